"""What a figure is made of stands in its folder, and nowhere else."""

import tomllib
from importlib.resources import files

import msgspec
import pytest
from sklearn.base import is_classifier

from assistlearn.errors import SettingsError
from paper.figures import FIGURES, Blobs, make_learner, parse_settings, published, quick, read_settings

FOLDER = files("paper").joinpath("figures")


def values_of(name):
    return tomllib.loads(FOLDER.joinpath(name, "settings.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_has_its_settings_and_a_readme(name):
    settings = read_settings(name)
    assert settings.name == name
    assert is_classifier(make_learner(settings.learner))
    readme = FOLDER.joinpath(name, "README.md").read_text(encoding="utf-8")
    assert f"python -m paper {name}" in readme


def test_no_folder_is_forgotten():
    assert sorted(folder.name for folder in FOLDER.iterdir() if folder.is_dir()) == sorted(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_the_curves_and_rounds_are_the_published_ones(name):
    settings = read_settings(name)
    curves = published(settings.figure)
    if curves:
        assert set(settings.methods) == set(curves)
        assert settings.rounds == max(max(curve) for curve in curves.values())


def test_sizes_and_replications_are_the_papers():
    for name in FIGURES:
        settings = read_settings(name)
        assert settings.replications == (5 if name == "fig4b" else 20)
        if isinstance(settings.data, Blobs):
            assert (settings.data.n_train, settings.data.n_test) == (1_000, 100_000)
        elif name != "fig4b":
            assert settings.data.train == 0.7


@pytest.mark.parametrize("name", FIGURES)
def test_what_was_chosen_is_one_of_the_candidates(name):
    settings = read_settings(name)
    if settings.calibration is None:
        return
    chosen = [
        candidate
        for candidate in settings.calibration.candidates
        if settings.learner.parameters | candidate.parameters == settings.learner.parameters
        and (candidate.spread is None or candidate.spread == settings.data.spread)
    ]
    assert len(chosen) == 1


def test_an_unknown_key_is_named():
    with pytest.raises(SettingsError, match=r"a\.toml: .*replicatons"):
        parse_settings(values_of("fig3c") | {"replicatons": 3}, "a.toml")


def test_a_wrong_value_is_named_with_its_place():
    with pytest.raises(SettingsError, match=r"rounds"):
        parse_settings(values_of("fig3c") | {"rounds": 0}, "a.toml")


def test_the_digest_changes_with_what_the_numbers_depend_on_and_with_nothing_else():
    settings = read_settings("fig3c")
    assert msgspec.structs.replace(settings, replications=3, remark="seen").digest() == settings.digest()
    for changed in (
        msgspec.structs.replace(settings, rounds=9),
        msgspec.structs.replace(settings, seed=1),
        msgspec.structs.replace(settings, methods=("Single", "ASCII")),
        msgspec.structs.replace(settings, data=msgspec.structs.replace(settings.data, train=0.6)),
        quick(settings),
    ):
        assert changed.digest() != settings.digest()


def test_a_learner_refuses_parameters_it_does_not_have():
    learner = msgspec.structs.replace(read_settings("fig3c").learner, parameters={"depth": 3})
    with pytest.raises(SettingsError, match=r"'decision tree' refuses its parameters.*depth"):
        make_learner(learner)


def test_round_zero_of_the_plots_is_our_round_one():
    curve = published("3a")["Oracle"]
    assert curve[1] == 0.32
    assert curve[19] == 0.948
    assert sorted(curve) == list(range(1, 20, 2))
