"""What a task's file says, and what is wrong with it: file, line, and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from assistlearn.errors import DescriptionError
from assistlearn.plan import Plan
from assistlearn.reach.flare.task_file import GIVE_UP_AFTER, TaskFile, check_helpers, load_task

TOP = {
    "run": 'run = "pilot"',
    "purpose": 'purpose = "credit pilot"',
    "site": 'site = "kits/bank"',
    "admin": 'admin = "kits/bank/admin"',
    "agent": 'agent = "data/bank.toml"',
    "helpers": 'helpers = ["shop", "phone-co"]',
    "alignment": 'alignment = "psi"',
    "overlap": 'overlap = "intersection"',
    "absent": 'absent = "go on"',
    "give_up_after": "give_up_after = 45",
}
TRAINING = {
    "method": 'method = "soft"',
    "order": 'order = "random"',
    "rounds": "rounds = 7",
    "weak_agent": 'weak_agent = "stop"',
    "reward": 'reward = "auto"',
    "cv": "cv = 4",
    "holdout": "holdout = 0.25",
    "patience": "patience = 2",
    "seed": "seed = 13",
    "loss": 'loss = "exponential"',
    "shrinkage": "shrinkage = 1.0",
    "score_bits": "score_bits = 16",
}
KEYS = [*TOP, "[training]", *TRAINING]


def written(folder: Path, *without: str, **lines: str) -> Path:
    file = folder / "task.toml"
    whole = {**TOP, "[training]": "[training]", **TRAINING}
    file.write_text("\n".join(lines.get(key, line) for key, line in whole.items() if key not in without) + "\n")
    return file


def test_every_key_is_read_and_paths_are_those_beside_the_file(tmp_path):
    assert load_task(written(tmp_path)) == TaskFile(
        site=tmp_path / "kits/bank",
        admin=tmp_path / "kits/bank/admin",
        agent=tmp_path / "data/bank.toml",
        helpers=("shop", "phone-co"),
        plan=Plan(
            method="soft",
            order="random",
            n_rounds=7,
            weak_agent="stop",
            holdout=0.25,
            patience=2,
            seed=13,
            alignment="psi",
            overlap="intersection",
            purpose="credit pilot",
            reward="auto",
            cv=4,
            loss="exponential",
            shrinkage=1.0,
            score_bits=16,
            absent="go on",
        ),
        run="pilot",
        give_up_after=45.0,
    )


def test_one_key_is_enough_and_the_rest_is_as_for_simulate(tmp_path):
    task = load_task(written(tmp_path, *(set(KEYS) - {"helpers"})))
    assert (task.plan, task.run, task.agent, task.give_up_after) == (Plan(holdout=0.2), None, None, GIVE_UP_AFTER)


@pytest.mark.parametrize("nothing", ['"none"', "0", "0.0"])
def test_a_task_can_do_without_hold_out_samples(tmp_path, nothing):
    assert load_task(written(tmp_path, holdout=f"holdout = {nothing}")).plan.holdout is None


def test_the_papers_method_is_one_word_of_a_task(tmp_path):
    plan = load_task(
        written(tmp_path, *(set(KEYS) - {"helpers", "[training]", "method"}), method='method = "ascii"')
    ).plan
    assert plan == Plan(method="ascii", reward="in-sample", combine="sum", models_per_turn=1, holdout=0.2)


def test_kits_are_where_a_member_that_joined_has_them_unless_the_task_says_otherwise(tmp_path):
    task = load_task(written(tmp_path, "site", "admin"))
    assert (task.site, task.admin) == (tmp_path / "kit", tmp_path / "kit" / "admin")
    assert load_task(written(tmp_path, "admin")).admin == tmp_path / "kits" / "bank" / "admin"


def test_a_task_without_helpers_is_told_so_with_an_example(tmp_path):
    file = written(tmp_path, "helpers")
    with pytest.raises(
        DescriptionError, match=rf"^{file}: the key 'helpers' is missing. Add a line such as: helpers ="
    ):
        load_task(file)


@pytest.mark.parametrize(
    ("key", "line", "words"),
    [
        ("run", "run = 3", "run"),
        ("helpers", "helpers = []", "at least one organisation"),
        ("helpers", 'helpers = ["shop", "shop"]', "each once"),
        ("helpers", 'helpers = "shop"', "helpers"),
        ("alignment", 'alignment = "guess"', "'hash'"),
        ("overlap", 'overlap = "all"', "'abstain'"),
        ("absent", 'absent = "wait"', "'go on'"),
        ("give_up_after", "give_up_after = 5", "between 5 and 86400"),
        ("give_up_after", "give_up_after = nan", "between 5 and 86400"),
        ("give_up_after", 'give_up_after = "long"', "must be a number"),
        ("give_up_after", "give_up_after = true", "must be a number"),
        ("method", 'method = "magic"', "'ascii'"),
        ("order", 'order = "greedy"', "'chain'"),
        ("rounds", "rounds = 0", "rounds"),
        ("weak_agent", 'weak_agent = "cry"', "'skip'"),
        ("reward", 'reward = "gold"', "'in-sample'"),
        ("cv", "cv = 1", "cv"),
        ("cv", "cv = 101", "at most 100"),
        ("holdout", "holdout = -0.1", "between 0 and 1"),
        ("holdout", "holdout = 1.0", "between 0 and 1"),
        ("patience", "patience = 0", "training.patience"),
        ("seed", "seed = -1", "seed"),
        ("loss", 'loss = "weight"', "'logistic'"),
        ("shrinkage", "shrinkage = 0.0", "above 0 and at most 1"),
        ("shrinkage", "shrinkage = 1.01", "above 0 and at most 1"),
        ("score_bits", "score_bits = 7", "[0, 2, 3, 4, 8, 16, 32]"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(tmp_path, key, line, words):
    file = written(tmp_path, **{key: line})
    with pytest.raises(DescriptionError) as raised:
        load_task(file)
    assert str(raised.value).startswith(f"{file}, line {KEYS.index(key) + 1}: ")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("key", "line", "meant"), [("absent", "absnet = 1", "absent"), ("rounds", "ronuds = 2", "rounds")]
)
def test_an_unknown_key_is_named_with_the_one_that_was_meant(tmp_path, key, line, meant):
    file = written(tmp_path, **{key: line})
    with pytest.raises(DescriptionError, match=rf"line {KEYS.index(key) + 1}: there is no key .*'{meant}'\?"):
        load_task(file)


def test_a_seed_of_zero_is_a_seed(tmp_path):
    assert load_task(written(tmp_path, seed="seed = 0")).plan.seed == 0


def test_a_choice_that_is_nearly_right_is_suggested(tmp_path):
    with pytest.raises(DescriptionError, match=r"training.method = 'Soft' is not known.* Did you mean 'soft'\?"):
        load_task(written(tmp_path, method='method = "Soft"'))


def test_an_initiator_does_not_help_itself():
    check_helpers(Path("task.toml"), ["shop"], "bank")
    with pytest.raises(DescriptionError, match=r"task.toml: helpers names 'bank', which is the initiator itself"):
        check_helpers(Path("task.toml"), ["shop", "bank"], "bank")
