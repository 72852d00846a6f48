"""Every experiment runs, with small sizes; what a replication finds depends on its number alone."""

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from paper import drawing
from paper.drawing import take_snapshots
from paper.figures import FIGURES, Blobs, Patients, Pictures, Shared, draw, quick, read_settings, settled
from paper.replication import fitted, prepared, replicate, staged_accuracy


def small(name, data_folder):
    return prepared(quick(read_settings(name)), str(data_folder))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_runs_and_gives_an_accuracy_for_each_round(name, data_folder):
    settings = small(name, data_folder)
    first, second = (replicate(settings, number, str(data_folder)) for number in (0, 1))
    for result in (first, second):
        assert list(result.accuracy) == list(settings.methods)
        for method, curve in result.accuracy.items():
            assert len(curve) == settings.rounds
            assert all(0.0 < accuracy <= 1.0 for accuracy in curve)
            assert 1 <= result.rounds[method] <= settings.rounds
        assert (result.cost is not None) == (settings.transmission is not None)
    assert first.accuracy != second.accuracy


EXACT = {
    "fig1": {"Single": 0.466, "ASCII": 0.676, "Oracle": 0.768},
    "fig3d": {"Single": 0.45625, "ASCII": 0.533333, "Oracle": 0.575},
    "fig6b": {"ASCII": 0.5375, "ASCII-Random": 0.485417, "ASCII-Simple": 0.522917, "Ensemble-Ada": 0.372917},
}


@pytest.mark.parametrize("name", EXACT)
def test_a_seed_gives_these_numbers(name, data_folder):
    found = replicate(small(name, data_folder), 0, str(data_folder)).accuracy
    assert {method: curve[-1] for method, curve in found.items()} == EXACT[name]


def test_the_oracle_is_scikit_learns_adaboost_on_all_columns(data_folder):
    settings = small("fig3d", data_folder)
    train, test = draw(settings.data, 3, str(data_folder))
    ours = staged_accuracy(fitted(settings, "Oracle", train, 3), test, settings.rounds)
    theirs = AdaBoostClassifier(DecisionTreeClassifier(max_depth=6), n_estimators=settings.rounds, random_state=0)
    theirs.fit(train.features, train.labels)
    # Trees break ties between equally good splits by their own seeds; nothing else differs.
    assert ours == pytest.approx(list(theirs.staged_score(test.features, test.labels)), abs=0.03)


def test_a_run_that_ended_early_keeps_its_last_accuracy():
    settings = quick(read_settings("fig1"))
    train, test = draw(settings.data, 0)
    model = fitted(settings, "ASCII", train, 0)
    assert staged_accuracy(model, test, 7) == [
        *staged_accuracy(model, test, 3),
        *staged_accuracy(model, test, 3)[-1:] * 4,
    ]


def test_samples_of_real_data_are_either_trained_or_tested_on(data_folder):
    train, test = draw(Shared("red_wine", 0.7, 2), 5, str(data_folder))
    assert (len(train), len(test)) == (1119, 480)
    assert sorted([*train.ids, *test.ids]) == list(range(1599))
    again, _ = draw(Shared("red_wine", 0.7, 2), 5, str(data_folder))
    other, _ = draw(Shared("red_wine", 0.7, 2), 6, str(data_folder))
    assert np.array_equal(again.ids, train.ids)
    assert not np.array_equal(other.ids, train.ids)


def test_blobs_are_new_in_every_replication_and_the_same_for_train_and_test():
    data = Blobs("fig3a", 1.0, 500, 500)
    train, test = draw(data, 1)
    other, _ = draw(data, 2)

    def centres(part):
        return np.array([part.features[part.labels == code].mean(axis=0) for code in range(10)])

    assert np.abs(centres(train) - centres(test)).max() < 1.0
    assert np.abs(centres(train) - centres(other)).max() > 5.0


def test_pictures_are_scaled_and_cut_anew_in_every_replication(data_folder):
    data = Pictures(255.0, 50, 20)
    train, test = draw(data, 0, str(data_folder))
    other, _ = draw(data, 1, str(data_folder))
    assert train.features.dtype == np.float32
    assert (len(train), len(test)) == (50, 20)
    assert train.features.max() == 1.0
    assert train.agents == test.agents
    assert train.agents != other.agents


def test_without_the_credentialed_files_the_demo_is_used_and_said(data_folder, tmp_path):
    asked = read_settings("fig3b").data
    assert isinstance(asked, Patients)
    assert not asked.demo
    used = settled(asked, str(data_folder))
    assert used.demo == (not (data_folder / "mimiciii").is_dir())
    assert settled(used, str(tmp_path)) == used


def test_the_picture_of_figure_1_shows_right_and_wrong_samples_after_its_rounds():
    shots = take_snapshots(quick(read_settings("fig1")))
    assert [shot.round for shot in shots] == [1, 3, 3]  # no more than the three rounds that there are
    for shot in shots:
        assert shot.places.shape == (500, 2)
        assert 0 < shot.right.sum() < 500
    assert shots[-1].right.mean() == pytest.approx(0.676)


@pytest.mark.filterwarnings("ignore:y. All labels are")
def test_where_nothing_was_learned_snapshots_show_the_most_frequent_class(monkeypatch):
    settings = quick(read_settings("fig1"))
    train, test = draw(settings.data, settings.seed)
    only = train.labels[0]
    alike = train.take(np.flatnonzero(train.labels == only))  # one class: there is no round
    monkeypatch.setattr(drawing, "draw", lambda *_: (alike, test))
    shots = take_snapshots(settings)
    assert [shot.round for shot in shots] == [min(round, settings.rounds) for round in settings.picture.shown_rounds]
    for shot in shots:
        assert np.array_equal(shot.right, test.labels[: len(shot.right)] == only)
