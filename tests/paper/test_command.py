"""``python -m paper``, as a user calls it."""

import json
from functools import partial

import pytest

from paper import replication
from paper.__main__ import program
from tests.cli.program import assistlearn

reproduce = partial(assistlearn, program=program, name="python -m paper")


def test_a_quick_look_writes_numbers_pictures_and_the_page(tmp_path):
    page = tmp_path / "docs" / "page.md"
    said = reproduce("fig1", "--quick", "--replications", "2", "--out", tmp_path, "--page", page)
    assert said.code == 0, said.err
    assert "Figure 1" in said.out
    assert "2 replications" in said.out
    assert {path.name for path in (tmp_path / "fig1").iterdir()} == {
        "replications",
        "results.csv",
        "results.json",
        "figure.png",
        "figure.svg",
    }
    assert "## Figure 1" in page.read_text(encoding="utf-8")


def test_json_is_one_object(tmp_path):
    said = reproduce("fig1", "--quick", "--replications", "2", "--out", tmp_path, "--json")
    [figure] = said.json["figures"]
    assert len(figure["curves"]["ASCII"]["mean"]) == 3
    assert json.loads((tmp_path / "fig1" / "results.json").read_text(encoding="utf-8")) == figure


def test_an_unknown_figure_is_refused(tmp_path):
    reproduce("fig2", "--out", tmp_path).failed(2, "There is no figure 'fig2'", "fig3c", "all")


def test_missing_data_are_named(tmp_path):
    said = reproduce("fig3c", "--quick", "--data", tmp_path, "--out", tmp_path / "out")
    said.failed(2, "biodeg.csv was not found", str(tmp_path))


def test_an_interruption_says_how_to_go_on(tmp_path, monkeypatch):
    real = replication.replicate

    def tired(settings, number, data):
        if number == 1:
            raise KeyboardInterrupt
        return real(settings, number, data)

    monkeypatch.setattr(replication, "replicate", tired)
    command = ("fig1", "--quick", "--replications", "3", "--out", tmp_path)
    reproduce(*command).failed(130, "after 1 replication of 3", "same command again")
    monkeypatch.undo()
    [figure] = reproduce(*command, "--finished", "--json").json["figures"]
    assert figure["replications"] == 1
    assert reproduce(*command).code == 0


def test_nothing_finished_is_said(tmp_path):
    said = reproduce("fig1", "--quick", "--finished", "--out", tmp_path)
    said.failed(2, "holds no finished replications of fig1")


@pytest.mark.parametrize("figure", ["fig6a", "fig1"])
def test_calibration_of_a_figure_without_candidates_says_why(figure):
    reproduce(figure, "--calibrate").failed(2, "has no candidates to choose from")
