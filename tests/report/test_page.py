"""The page of a run: it says what the run's own files say, of every kind of run, and nothing that it must not."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import pytest

from assistlearn.initiator.folder import RunFolder
from assistlearn.report.run import run_page, sections_of, without_class_names
from assistlearn.report.story import view_of
from tests.cli.program import assistlearn
from tests.initiator.digests import rewrite
from tests.report.telltale import CLASSES, TELLTALES

KINDS = ("trained", "pilot", "without hold-out", "label-private", "learned", "stopped", "left")


def texts(page: str) -> str:
    """What a reader reads, without tags."""
    said = html.unescape(re.sub(r"<[^>]+>", " ", re.sub(r"(?s)<style>.*?</style>", "", page)))
    return said.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_of_any_kind_has_a_page_with_every_section_that_has_something_to_say(shown, kind):
    view, page = shown(kind)
    for section in sections_of(view):
        assert page.count(f'<section id="{section.key}"') == 1
        assert section.picture is None or section.tables  # a real table under every figure
    assert page.count("<figure") == page.count('<figure role="img" aria-label="') == page.count("<svg")
    assert "style=" not in page
    assert "<script" not in page
    assert re.findall(r"https?://[^\"<\s]+", page) == []


@pytest.mark.parametrize("kind", KINDS)
def test_no_id_no_value_no_column_and_no_path_is_in_a_page_or_its_view(kinds, shown, kind):
    view, page = shown(kind)
    for text in (page, json.dumps(view.to_dict())):
        assert [word for word in (*TELLTALES, str(kinds(kind).path)) if word in text] == []


def test_what_a_page_must_not_hold_is_in_the_folder_it_is_made_of(trained):
    held = trained.events.read_text() + (trained.path / "settings.json").read_text()
    assert [word for word in ("quokka", "numbat", "bilby") if word not in held] == []


def test_bytes_are_those_of_the_ledger_and_bits_those_of_show(trained, shown):
    facts = assistlearn("show", trained.path, "--json").json["result"]
    view = shown("trained")[0]
    assert view.counted_by == "ledger"
    for traffic in view.exchanges:
        own = facts["traffic"][traffic.helper]
        answers = traffic.bytes("received", "turn-taken")
        assert answers == own["received"]["turn-taken"]
        assert traffic.bits_received == pytest.approx(8 * answers / (own["turns"] * facts["n_samples"]))
        assert {"predict", "scores"} <= {type_ for _, type_, _, _ in traffic.rows()}


def test_class_names_are_shown_escaped_and_can_be_left_out(shown):
    view, page = shown("trained")
    without = run_page(without_class_names(view))
    for name in CLASSES:
        assert html.escape(name) in page
        assert name not in page.replace(html.escape(name), "")
        assert html.escape(name) not in without
    assert "class 1" in without


SAID = {
    "label-private": ["epsilon 1 in this run", "True labels and weights of samples stayed in this run."],
    "without hold-out": ["no samples were held out. So nothing that "],
    "stopped": ["stopped before it had a result, after 4 turns"],
    "left": ["The run went on without lab from turn 3 on."],
}


@pytest.mark.parametrize("kind", SAID)
def test_what_is_true_of_one_kind_of_run_is_said_on_its_page_alone(shown, kind):
    said, other = texts(shown(kind)[1]), texts(shown("trained")[1])
    assert [words for words in SAID[kind] if words not in said or words in other] == []
    assert ("Who helped" in said) == (kind not in ("without hold-out", "stopped"))


def test_a_pilot_answers_its_question_with_its_limits(pilot, shown):
    worth, (view, page) = pilot.worth(), shown("pilot")
    assert (view.answer.verdict, view.answer.difference.low) == (worth["answer"], worth["lower"])
    assert f"{worth['loss_alone'] * 100:.1f} %" in texts(page)
    assert view.opened[-1].n_opened == worth["n_opened"]
    assert view.gains.keys() == {"lab", "scans"}


def test_an_agent_that_makes_it_worse_is_named_above_all_else(shown):
    view = replace(shown("trained")[0], worse=("lab",), left_out=("lab", "scans"))
    said = texts(run_page(view))
    assert "worse on these samples, by more than chance explains. Its votes were left out of the result." in said
    assert "The hold-out samples contradict what scans said." in said


def test_a_folder_that_holds_only_settings_has_a_page(tmp_path, trained):
    rewrite(tmp_path, "settings.json", (trained.path / "settings.json").read_bytes())
    said = texts(run_page(view_of(RunFolder(tmp_path))))
    assert "stopped before it had a result, after 0 turns" in said


def test_ids_of_elements_are_unique_in_a_page(shown):
    ids = re.findall(r'\sid="([^"]+)"', shown("trained")[1])
    assert len(ids) == len(set(ids)) > 20
