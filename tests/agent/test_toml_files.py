"""Any TOML file of ours, read into a type that may be made while the program runs, with an error for each mistake."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from assistlearn.errors import DescriptionError, SettingsError, WrongKeyError
from assistlearn.toml import Count, Text, read_toml_file


def _check_together(training) -> None:
    if training.rounds > 9 and training.method == "ensemble":
        raise WrongKeyError("rounds", f"rounds = {training.rounds} are too many for an ensemble. Use fewer.")
    if training.cv == 99:
        raise SettingsError("cv = 99 is for nobody.")


Training = msgspec.defstruct(
    "Training",
    [
        ("method", Literal["ascii", "ensemble"], "ascii"),
        ("rounds", Count, 3),
        ("cv", Annotated[int, Meta(ge=2, le=100)], 5),
        ("bits", Literal[4, 8, 16], 8),
        ("shrinkage", Annotated[float, Meta(gt=0, le=1)], 1.0),
        ("speed", Annotated[float, Meta(gt=0)], 1.0),
        ("holdout", Annotated[float, Meta(gt=0.0, lt=1.0)] | None, None),
        ("tries", Annotated[int, Meta(le=1_000_000)], 1),
    ],
    namespace={"__post_init__": _check_together},
    frozen=True,
    forbid_unknown_fields=True,
)


class Task(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    site: Annotated[Path, Meta(examples=["kits/bank"])]
    helpers: tuple[Text, ...]
    training: Training = Training()


TOP = 'site = "kit"\nhelpers = ["shop"]\n'


def read(folder: Path, text: str):
    (folder / "task.toml").write_text(text, encoding="utf-8")
    return read_toml_file(folder / "task.toml", Task, "task's file")


def test_a_table_whose_keys_are_made_at_run_time_is_read(tmp_path):
    task, places = read(tmp_path, TOP + "[training]\nrounds = 7\nholdout = 0.5\nspeed = 2\n")
    assert task == Task(tmp_path / "kit", ("shop",), Training(rounds=7, holdout=0.5, speed=2.0))
    assert places("training", "rounds") == f"{tmp_path / 'task.toml'}, line 4"


def test_a_path_that_is_absolute_or_at_home_stays_so(tmp_path):
    assert read(tmp_path, TOP.replace("kit", "/srv/kit"))[0].site == Path("/srv/kit")
    assert read(tmp_path, TOP.replace("kit", "~/kit"))[0].site == Path.home() / "kit"


BAD = {
    "an unknown key": ("ronds = 7", "there is no key 'ronds' in [training]. Did you mean 'rounds'? The keys here are"),
    "an unknown choice": ('method = "ensembel"', "training.method = 'ensembel' is not known. Did you mean 'ensemble'?"),
    "a number for a choice": ("method = 3", "training.method = 3 is not known. Choose one of 'ascii', 'ensemble'."),
    "a number that is no choice": ("bits = 7", "training.bits = 7 is not known. Choose one of 4, 8, 16."),
    "too small": ("rounds = 0", "training.rounds = 0 must be a whole number of at least 1."),
    "a fraction": ("rounds = 2.5", "training.rounds = 2.5 must be a whole number of at least 1."),
    "too large": ("cv = 101", "training.cv = 101 must be a whole number of at least 2 and at most 100."),
    "above the only limit": (
        "tries = 1000001",
        "training.tries = 1000001 must be a whole number of at most 1000000",
    ),
    "a share of nothing": ("shrinkage = 0", "training.shrinkage = 0 must be a number between 0 and 1."),
    "not above the only limit": ("speed = 0.0", "training.speed = 0.0 must be a number above 0."),
    "not a number": ("holdout = nan", "training.holdout = nan must be a number between 0 and 1."),
    "a truth for a number": ("holdout = true", "training.holdout = True must be a number between 0 and 1."),
    "two keys that do not go together": (
        'rounds = 10\nmethod = "ensemble"',
        "rounds = 10 are too many for an ensemble. Use fewer.",
    ),
}


@pytest.mark.parametrize(("lines", "said"), BAD.values(), ids=BAD.keys())
def test_a_mistake_in_such_a_table_is_named_with_its_line(tmp_path, lines, said):
    with pytest.raises(DescriptionError) as caught:
        read(tmp_path, TOP + f"[training]\n{lines}\n")
    assert str(caught.value).startswith(f"{tmp_path / 'task.toml'}, line 4: {said}")


def test_an_error_of_the_type_itself_keeps_its_words_and_gets_the_line_of_its_table(tmp_path):
    with pytest.raises(DescriptionError, match=r"task\.toml, line 3: training: cv = 99 is for nobody\.$"):
        read(tmp_path, TOP + "[training]\ncv = 99\n")


def test_a_missing_key_is_named_with_an_example_where_there_is_one(tmp_path):
    with pytest.raises(DescriptionError, match=r"'site' is missing\. Add a line such as: site = \"kits/bank\"$"):
        read(tmp_path, 'helpers = ["shop"]')
    with pytest.raises(DescriptionError, match=r"'helpers' is missing\. Add it\.$"):
        read(tmp_path, 'site = "kit"')


def test_a_list_with_one_wrong_item_is_shown_whole(tmp_path):
    with pytest.raises(DescriptionError, match=r"line 2: helpers = \['shop', 3\] must be a list of texts"):
        read(tmp_path, 'site = "kit"\nhelpers = ["shop", 3]')
