"""What a watched run says of itself, in states that a running test cannot wait for."""

from __future__ import annotations

import shutil

import pytest

from assistlearn.errors import AssistLearnError
from assistlearn.events import RoundFinished
from assistlearn.report.page import body
from assistlearn.web.live import LiveRun
from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents
from tests.initiator.digests import rewrite, rewrite_settings
from tests.web.serving import wait_until


def read_all(run: LiveRun) -> LiveRun:
    while run.take_news():
        pass
    return run


def keys(run: LiveRun) -> list[str]:
    return [section.key for section in run.sections()]


def test_a_run_that_has_ended_has_all_sections_of_its_report_the_answer_first(finished_run):
    run = read_all(LiveRun(finished_run))
    assert run.status().condition == "ended"
    page = body(run.frame(), run.sections())
    assert keys(run)[0] == "answer"
    assert {"rounds", "weights", "exchange", "samples", "time", "leaving", "settings"} < {*keys(run)}
    assert f"{assistlearn('show', finished_run, '--json').json['turns']} turns taken" in page


@pytest.mark.usefixtures("forked_agents")
def test_a_pilot_is_watched_like_any_other_run(tmp_path):
    agents = write_agents(tmp_path)
    made = assistlearn("worth", *agents[:2], "--out", tmp_path / "pilot", "--run", "trial", "--block", 20, "--json")
    assert made.code == 0, made.err
    run = read_all(LiveRun(tmp_path / "pilot"))
    assert run.status().condition == "ended"
    assert {"answer", "pilot"} < {*keys(run)}


def test_what_the_folder_holds_and_nobody_can_read_is_said(finished_run, tmp_path):
    folder = tmp_path / "spoiled"
    shutil.copytree(finished_run, folder)
    result = folder / "result.json"
    result.write_text(result.read_text().replace('"n_rounds"', '"n_round"'))
    run = read_all(LiveRun(folder))
    assert "cannot be read; 'assistlearn show' says why" in run.status().words
    assert assistlearn("show", folder).code == 2


def test_a_run_of_another_name_in_the_same_folder_is_another_page(begun):
    log = begun.log()
    log.append(RoundFinished(1, 0.5))
    run = read_all(LiveRun(begun.path))
    first, title = run.generation, run.frame().kicker
    settings = begun.path / "settings.json"
    text = settings.read_text()
    for path in (settings, begun.events):
        path.unlink()
    run.take_news()
    assert (run.status().condition, run.sections()) == ("gone", [])
    rewrite(begun.path, "settings.json", text.replace('"heart"', '"lungs"').encode())
    read_all(run)
    assert run.generation == first + 1
    assert title.startswith("Run heart")
    assert run.frame().kicker == "Run lungs"


def test_settings_that_cannot_be_read_are_named(begun):
    rewrite_settings(begun.path, {"run": "heart"})
    with pytest.raises(AssistLearnError, match=r"settings\.json"):
        LiveRun(begun.path)


def test_a_damaged_line_does_not_end_the_watch(begun):
    log = begun.log()
    log.append(RoundFinished(1, 0.5))
    with begun.events.open("ab") as file:
        file.write(b"\x00 no fact\n")
    log.append(RoundFinished(2, 0.6))
    run = read_all(LiveRun(begun.path))
    wait_until(lambda: run.take_news() or run.status().condition != "reading")
    assert "60.0 % of the hold-out" in run.sections()[0].html
