"""A combination decides by shares that add up, serves absences, and is no worse than the initiator alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistlearn import combination
from assistlearn.combination import fitting
from assistlearn.combination import linear as linear_combinations
from assistlearn.combination import trees as tree_combination
from assistlearn.combination.linear import evidence, fit_linear, folds_of, whole
from assistlearn.combination.trees import TreeCombination
from assistlearn.core import votes
from assistlearn.errors import SettingsError
from tests.combination.conftest import centred, log_loss, problem_for_trees, scores_and_codes, total


def test_trees_are_taken_where_no_sum_can_say_it_and_columns_may_have_holes(boosted):
    scores, codes, own = problem_for_trees(seed=1)
    decided = total(boosted.decide(scores, own))
    assert boosted.kind == "boosted"
    assert np.mean(votes.winners(decided) == codes) > 0.8
    assert boosted.losses["boosted"] + boosted.error < boosted.losses["linear"]


def test_the_decision_of_trees_stands_for_their_own_probabilities(boosted):
    scores, _, own = problem_for_trees(50, seed=1)
    said = boosted.model.trees.predict_proba(np.concatenate([*scores.values(), own], axis=1))
    assert np.abs(boosted.probabilities(total(boosted.decide(scores, own))) - said).max() < 1e-7


def test_the_linear_kind_is_taken_where_trees_are_not_better_by_more_than_an_error(linear):
    assert linear.kind == "linear"
    assert linear.losses["linear"] < linear.losses["sum"]
    assert set(linear.losses) == {"sum", "linear", "boosted"}


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), gone=st.sets(st.sampled_from(["a", "b", "c"]), max_size=2), share=st.floats(0, 1))
def test_shares_sum_to_the_decision_and_rows_to_zero_whoever_is_missing(linear, seed, gone, share):
    scores, _ = scores_and_codes(20, seed=seed)
    silent = np.random.default_rng(seed).random((3, 20)) < share
    for rows, said in zip(silent, scores.values(), strict=True):
        said[rows] = 0.0
    there = {agent: said for agent, said in scores.items() if agent not in gone}
    shares = linear.decide(there)
    assert list(shares) == list(there)
    assert np.abs(total(shares).sum(axis=1)).max() < 1e-9
    for row in range(20):
        present = tuple(agent for agent in there if there[agent][row].any())
        model = linear.model_for(present)
        alone = total(model.shares({agent: there[agent][[row]] for agent in present})) if present else 0.0
        assert np.allclose(total(shares)[row], (alone + whole(model.bias[None]))[0], atol=1e-12)


@settings(max_examples=10)
@given(seed=st.integers(0, 1000), share=st.floats(0, 1))
def test_shares_of_trees_have_rows_that_sum_to_zero_and_none_for_who_abstains(boosted, seed, share):
    scores, _, own = problem_for_trees(20, seed)
    scores["b"][np.random.default_rng(seed).random(20) < share] = 0.0
    shares = boosted.decide(scores, own)
    assert max(np.abs(each.sum(axis=1)).max() for each in shares.values()) < 1e-9
    assert not shares["b"][~scores["b"].any(axis=1)].any()


@pytest.mark.parametrize("kind", ["linear", "boosted"])
def test_an_agent_that_is_missing_is_one_that_abstains_everywhere(kind, request):
    fitted = request.getfixturevalue(kind)
    scores, _, own = problem_for_trees(30)
    scores = {agent: scores.get(agent, np.zeros((30, 3))) for agent in fitted.agents}
    silent = fitted.decide(scores | {"b": np.zeros((30, 3))}, own)
    missing = fitted.decide({agent: said for agent, said in scores.items() if agent != "b"}, own)
    assert np.array_equal(total(silent), total(missing))


def test_where_a_helper_is_missing_the_others_decide_as_if_they_had_been_fitted_alone(linear):
    scores, codes = scores_and_codes(300, 3, know=(1.0, -1.0, 0.5))
    assert {each.agents for each in linear.absences} == {("a",), ("a", "b"), ("a", "c"), ("b", "c"), ()}
    two = {agent: scores[agent] for agent in ("a", "c")}
    [model] = [each for each in linear.absences if each.agents == ("a", "c")]
    assert np.allclose(total(linear.decide(two)), total(model.shares(two)) + model.bias, atol=1e-12)
    neutral = total(linear.model.shares(two)) + linear.model.bias
    assert log_loss(total(linear.decide(two)), codes).mean() < log_loss(neutral, codes).mean()


def test_where_a_helper_is_missing_trees_that_know_absences_decide(boosted):
    scores, codes, own = problem_for_trees()
    silent = scores | {"b": np.zeros_like(scores["b"])}
    assert boosted.model_for(("a",)) is boosted.trees_otherwise
    neutral = total(boosted.model.shares(silent, own))
    assert log_loss(total(boosted.decide(silent, own)), codes).mean() < log_loss(neutral, codes).mean()


def test_where_the_initiator_is_missing_no_trees_decide(boosted):
    scores, _, _ = problem_for_trees()
    assert boosted.model_for(("b",), with_trees=False) in boosted.absences
    assert np.isfinite(total(boosted.decide({"b": scores["b"]}))).all()


def test_a_sample_that_nobody_speaks_about_gets_how_often_each_class_occurs():
    scores, codes = scores_and_codes(400, 3, know=(1.0, -1.0, 0.5))
    codes = np.where(codes == 2, 0, codes)
    fitted = combination.fit("learned", scores, codes, initiator="a")
    said = fitted.probabilities(total(fitted.decide({"b": np.zeros((1, 3))})))
    assert np.abs(said - np.bincount(codes, minlength=3) / 400).max() < 0.01


def test_what_belongs_to_nobody_is_the_initiators_or_the_first_agents(linear):
    silent = np.zeros((1, 3))
    shares = linear.decide({"c": silent, "a": silent})
    assert shares["a"].any()
    assert not shares["c"].any()
    assert linear.decide({"c": silent, "b": silent})["c"].any()


def test_many_agents_have_a_combination_for_each_that_is_missing_and_for_the_initiator_alone():
    names = ("a", "b", "c", "d", "e")
    sets = fitting.likely_sets(names, "a")
    assert len(sets) == 6
    assert ("a",) in sets
    scores, codes = scores_and_codes(200, 3, names, know=(1.0, -1.0, 0.5, 0.5, 0.5))
    fitted = combination.fit("learned", scores, codes, initiator="a")
    assert fitted.kind == "linear"
    assert fitted.model_for(("a", "c", "d", "e")).agents == ("a", "c", "d", "e")
    assert fitted.model_for(("a", "b", "c")) is fitted.otherwise


def test_of_many_agents_that_say_the_same_few_are_heard_as_loudly_as_all():
    rng = np.random.default_rng(0)
    one, codes = scores_and_codes(400, 3, ("a",), know=2.0)
    scores = {agent: centred(one["a"] + 0.1 * rng.normal(size=(400, 3))) for agent in "abcdef"}
    fitted = combination.fit("learned", scores, codes, initiator="a")
    few = {agent: scores[agent] for agent in "abc"}
    assert fitted.model_for((*few,)) is fitted.otherwise
    neutral = total(fitted.model.shares(few)) + whole(fitted.model.bias[None])
    assert log_loss(total(fitted.decide(few)), codes).mean() < log_loss(neutral, codes).mean() - 0.01


def test_the_sum_is_the_votes_as_they_are():
    scores, codes = scores_and_codes()
    fitted = combination.fit("sum", scores, codes, initiator="a")
    some = scores | {"b": np.zeros_like(scores["b"])}
    assert all(np.array_equal(share, some[agent]) for agent, share in fitted.decide(some).items())
    assert fitted.loss == pytest.approx(log_loss(total(scores), codes).mean())


@pytest.mark.parametrize("seed", range(3))
def test_helpers_of_pure_noise_leave_auto_within_noise_of_the_initiator(seed):
    scores, codes = scores_and_codes(300, 3, seed=seed, know=(2.0, 0.0, 0.0))
    fitted = combination.fit("auto", scores, codes, initiator="a", seed=seed)
    new, truth = scores_and_codes(2000, 3, seed=seed + 100, know=(2.0, 0.0, 0.0))
    alone = fit_linear(evidence(scores, codes, "a").of(("a",)), 0.01)
    gain = log_loss(total(alone.shares(new)) + alone.bias, truth) - log_loss(total(fitted.decide(new)), truth)
    assert gain.mean() > -2 * gain.std() / np.sqrt(2000) - 0.01
    assert fitted.kind in ("alone", "linear alone")
    assert not fitted.decide(new)["b"].any()


def test_auto_listens_to_helpers_that_help():
    scores, codes = scores_and_codes(know=(0.5, 2.0, -2.0))
    fitted = combination.fit("auto", scores, codes, initiator="a")
    assert fitted.kind == "linear"
    assert fitted.losses["linear"] == min(fitted.losses.values())


def test_what_is_claimed_is_true_of_new_samples_also_where_every_sample_counts(monkeypatch):
    """With ten classes and 300 samples, a combination that has not seen a third of them is clearly worse."""
    monkeypatch.setattr(tree_combination, "MOST_CLASSES", 9)  # no trees: they would take most of the time
    apart, chosen, know = [], [], (1.0, -1.0, 0.5)
    for seed in range(8):
        scores, codes = scores_and_codes(300, 10, seed=seed, know=know)
        new, truth = scores_and_codes(5000, 10, seed=seed + 100, know=know)
        fitted = combination.fit("learned", scores, codes, initiator="a", seed=seed)
        true = log_loss(total(fitted.decide(new)), truth).mean()
        apart.append((fitted.loss - true) / fitted.error)
        chosen.append((fitted.losses[fitted.kind] - true) / fitted.error)
    assert abs(np.mean(apart)) < 0.5 < 0.7 < np.mean(chosen)


@pytest.mark.parametrize(
    ("n", "n_classes", "n_own", "words"),
    [
        (150, 31, 0, "with 31 classes every iteration would need as many trees; boosting is only tried with up to 30"),
        (100, 3, 1_000, "1,006 scores and columns, and 3 classes"),
        (30, 2, 0, "there are 30 samples"),
    ],
)
def test_where_trees_would_take_too_long_or_find_nothing_they_are_not_tried_and_it_is_said_why(
    n, n_classes, n_own, words
):
    scores, codes = scores_and_codes(n, n_classes, ("a", "b"))
    fitted = combination.fit("learned", scores, codes, initiator="a", own=np.zeros((n, n_own)))
    assert "boosted" not in fitted.losses
    assert words in fitted.skipped


def test_agents_that_never_spoke_are_not_listened_to_and_trees_see_the_initiators_columns_all_the_same():
    scores, codes, own = problem_for_trees()
    scores = {"a": np.zeros_like(scores["a"]), "b": scores["b"], "c": np.zeros_like(scores["a"])}
    fitted = combination.fit("learned", scores, codes, initiator="a", own=own)
    assert isinstance(fitted.model, TreeCombination)
    assert fitted.model.agents == ("b",)
    shares = fitted.decide(scores, own)
    assert np.mean(votes.winners(total(shares)) == codes) > 0.8
    assert shares["a"].any()
    assert not shares["c"].any()
    assert np.isfinite(total(fitted.decide({"b": scores["b"]}))).all()


def test_nothing_is_learned_where_nobody_spoke():
    silent = {agent: np.zeros((90, 3)) for agent in "ab"}
    codes = np.repeat([0, 0, 1], 30)
    fitted = combination.fit("auto", silent, codes, initiator="a")
    assert np.abs(fitted.probabilities(total(fitted.decide(silent)))[0] - [2 / 3, 1 / 3, 0]).max() < 0.02


def test_choices_on_many_samples_are_made_on_a_part_and_the_model_is_fitted_to_all(monkeypatch):
    scores, codes = scores_and_codes(400, know=(1.0, -1.0, 0.5))
    monkeypatch.setattr(linear_combinations, "MOST_SAMPLES", 100)
    part = linear_combinations.part_to_choose_on(400, 5)
    assert len(np.unique(part)) == 100
    fitted = combination.fit("learned", scores, codes, initiator="a", seed=5)
    monkeypatch.undo()
    on_part = combination.fit(
        "learned", {agent: said[part] for agent, said in scores.items()}, codes[part], initiator="a", seed=5
    )
    assert fitted.losses == pytest.approx(on_part.losses)
    assert not np.allclose(fitted.model.weights, on_part.model.weights)


def test_every_class_is_in_every_fold_and_folds_do_not_depend_on_what_classes_are_called():
    codes = np.random.default_rng(0).integers(4, size=50)
    folds = folds_of(codes, 1)
    counts = np.array([np.bincount(codes[folds == fold], minlength=4) for fold in range(3)])
    assert np.ptp(counts, axis=0).max() <= 1
    assert np.ptp(counts.sum(axis=1)) <= 1
    assert np.array_equal(folds, folds_of(3 - codes, 1))


def test_what_cannot_be_combined_is_said(linear, boosted):
    scores, codes = scores_and_codes(30)
    given = {"kind": "sum", "scores": scores, "codes": codes, "initiator": "a"}
    for changes, words in (
        ({"kind": "best"}, "one of sum, learned, auto, stack, offset, private, not 'best'"),
        ({"initiator": "z"}, "no scores of the initiator 'z'"),
        ({"scores": scores | {"b": scores["b"][1:]}}, r"agent 'b' have the shape \(29, 3\)"),
        ({"scores": scores | {"b": scores["b"] * np.nan}}, "'b' has a score that is not finite"),
        ({"codes": codes + 1}, "class codes from 0 to 2"),
        ({"weights": -np.ones(30)}, "30 weights"),
        ({"own": np.ones((2, 2))}, "must have 30 rows"),
    ):
        with pytest.raises(SettingsError, match=words):
            combination.fit(**given | changes)
    for fitted, some, words in (
        (linear, {}, "no scores of any agent"),
        (linear, {"z": scores["a"]}, "does not know z; it knows only a, b, c"),
        (linear, scores | {"b": scores["b"][:, :2]}, r"'b' have the shape \(30, 2\), not \(30, 3\)"),
        (boosted, {"a": scores["a"]}, r"must have the shape \(30, 2\), as in training; there are none"),
    ):
        with pytest.raises(SettingsError, match=words):
            fitted.decide(some)


def ratings_as_told(seed, n=6_000):
    """Return scores of four agents with a few cells each, as fold copies tell them, and as whole models tell them.

    The class follows from all cells together, not from their sum. Each of three copies is a little off in its own way,
    and what it says is rounded; a whole model is off in yet another way.
    """
    rng = np.random.default_rng(seed)
    cells = rng.integers([9, 8, 6, 9], size=(n, 4))
    merit = sum(rng.normal(size=12)[cells[:, place]] for place in range(4))
    merit += 2.0 * rng.normal(size=12)[cells[:, 0]] * rng.normal(size=12)[cells[:, 1]]
    codes = np.searchsorted(np.quantile(merit, [0.3, 0.6, 0.9]), merit)
    copies = rng.integers(3, size=n)
    folds, whole = {}, {}
    for place, name in enumerate("abcd"):
        often = np.stack([np.bincount(codes[cells[:, place] == cell], minlength=4) + 1.0 for cell in range(12)])
        truth = np.log(often / often.sum(axis=1, keepdims=True))
        off = truth + rng.normal(0.0, 0.03, size=(4, 12, 4))
        folds[name] = centred(np.round(off[copies, cells[:, place]] / 0.33) * 0.33)
        whole[name] = centred(off[3, cells[:, place]])
    return folds, whole, codes


@pytest.mark.parametrize("seed", [1, 2])
def test_trees_do_not_split_cells_between_what_copies_and_whole_models_say_of_them(seed):
    folds, whole, codes = ratings_as_told(seed)
    known, new = slice(4_000), slice(4_000, None)
    fitted = combination.fit("learned", {a: said[known] for a, said in folds.items()}, codes[known], initiator="a")
    assert fitted.kind == "boosted"
    lost = log_loss(total(fitted.decide({a: said[new] for a, said in whole.items()})), codes[new])
    of_copies = log_loss(total(fitted.decide({a: said[new] for a, said in folds.items()})), codes[new])
    assert lost.mean() < 1.1 * of_copies.mean()


def test_scores_of_many_values_are_left_as_they_are(boosted):
    assert not any(len(each) for each in boosted.model.levels)
