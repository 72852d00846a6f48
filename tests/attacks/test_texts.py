"""Texts of others that programs would take for commands: of a spreadsheet, of a terminal, of a page."""

from __future__ import annotations

import io

import msgspec
import polars as pl
import pytest
from rich.console import Console

from assistlearn.agent import run as replica
from assistlearn.cli.output import complaints, plain
from assistlearn.cli.predict import as_csv
from assistlearn.cli.progress import Bar
from assistlearn.protocol import decode, encode
from assistlearn.protocol import messages as m
from assistlearn.report import pictures as canvas
from assistlearn.web.live import LiveRun
from tests.agent.recording import record
from tests.attacks.attack import attack
from tests.cli.program import assistlearn
from tests.cli.small_agents import write_agents
from tests.web.serving import TOKEN, asked
from tests.web.serving import shown as shown_live

HARMFUL = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd", "-2-3", "\t=1", "\uff1d1", "-"]
HARMLESS = ["p-1", "-12", "+4.5e-3", "", "it's", "1=1"]


@attack(
    "local process",
    "puts ids into a table that a spreadsheet runs as a formula when it opens the predictions",
    "an apostrophe stands before such texts; `predict` says how many there are",
)
def test_no_text_in_the_predictions_is_a_formula():
    written = as_csv({"=id": pl.Series([*HARMFUL, *HARMLESS, None]), "prediction": pl.Series(range(14))})
    header, *_ = written.split("\n")
    assert header == "'=id,prediction"
    read = pl.read_csv(written.encode(), infer_schema=False)["'=id"].to_list()
    assert read == [*(f"'{text}" for text in HARMFUL), *HARMLESS, None]


@attack(
    "local process",
    "hides a command of a terminal or a sign of a web page in a label",
    "it is shown as `\\x01`; `report` and `watch` go on",
)
@pytest.mark.usefixtures("forked_agents")
def test_a_control_character_in_a_label_stops_no_report(tmp_path):
    agents = write_agents(tmp_path)
    table = agents[0].parent / "clinic.csv"
    label = pl.read_csv(table, infer_schema=False)
    column = label.columns[-1]
    table.write_text(label.with_columns(pl.col(column) + "\x01\x1b[2J").write_csv())
    run = tmp_path / "run"
    assert assistlearn("simulate", *agents, "--out", run, "--rounds", 1).code == 0
    assert assistlearn("report", run, "--out", tmp_path / "report.html").code == 0
    shown = assistlearn("show", run)
    assert shown.code == 0
    texts = [shown.out, (tmp_path / "report.html").read_text()]
    with shown_live(LiveRun(run)) as port:
        status, _, page = asked(port, f"/{TOKEN}/")
        assert status == 200
    for text in (*texts, page):
        assert "yes\\x01\\x1b[2J" in text
        assert not {"\x01", "\x1b"} & set(text)


def test_a_picture_takes_every_character():
    made = canvas.svg("k", 1.0, lambda figure: figure.text(0.1, 0.1, "a\x00b\x1b[2J\ufffe<&>"))
    assert "a\\x00b\\x1b[2J\\ufffe&lt;&amp;&gt;" in made


def test_no_name_in_a_text_becomes_an_emoji(capsys):
    complaints().print(plain("no agent :x: in :warning:"))
    assert capsys.readouterr().err == "no agent :x: in :warning:\n"
    console = Console(force_terminal=True, width=80, file=io.StringIO())
    with Bar(quiet=False, words="", total=2, console=console) as bar:
        bar.count("asking :x:")
    assert "asking :x:" in console.file.getvalue()


@attack(
    "initiator",
    "asks for turn 1,000,000 of a run that has just begun, so that the helper draws a million seeds",
    f"refused: a turn is at most {replica.AHEAD:,} after the last that the agent knows",
)
def test_a_turn_is_not_far_ahead(tmp_path):
    lab = record(tmp_path / "recorded")
    stage = lab.stage(m.TakeTurn)
    service = lab.service(tmp_path / "home", stage)
    asked = lab.request(m.TakeTurn)
    for turn in (replica.AHEAD + 1, replica.LAST_TURN, 1_000_000):
        reply = decode(service.answer(encode(msgspec.structs.replace(asked, turn=turn))))
        assert (reply.kind, "the next is at most turn 10,000" in reply.text) == ("out-of-order", True)
    assert decode(service.answer(lab.requests[stage])).turn == asked.turn
