"""What pages and pictures say about the code is what the code is."""

import re
import sys
import tomllib
from dataclasses import fields
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Literal, get_args, get_origin

import msgspec
import pytest

from assistlearn.agent_files.places import Places
from assistlearn.agent_files.toml_file import from_toml
from assistlearn.events import Event
from assistlearn.plan import DEFAULTS_OF_RUNS, SETTINGS, Plan
from assistlearn.protocol.messages import REPLIES, REQUESTS, VERSION
from assistlearn.reach.flare.task_file import OLDER_NAMES, _TaskKeys, _Training, key_of
from bench.way_of_a_reward import follow
from tests.documentation import pages

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
OTHERS = [
    page for page in pages() if "commands" not in page.parts
]  # a command may be called as a page of another folder
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (README, *OTHERS)}
CODE = re.compile(r"`([\w.]+)`")


def _section(page, heading):
    return PAGES[page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _rows(text):
    """The rows of the tables in a text, each as a list of its cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def _is_text(kind):
    if get_origin(kind) is Literal:
        return any(isinstance(word, str) for word in get_args(kind))
    return kind is str or any(_is_text(part) for part in get_args(kind))


def test_every_text_in_a_message_is_on_the_page_about_privacy_with_who_is_told():
    rows = _rows(_section("privacy", "What is said in words"))
    said = {field: told for what, told, *_ in rows for field in CODE.findall(what)}
    for kinds, told in ((REQUESTS, "helper"), (REPLIES, "the initiator")):
        for kind in kinds:
            own = [field.name for field in msgspec.structs.fields(kind) if _is_text(field.type) and field.name != "run"]
            for name in own:
                assert told in said.pop(f"{kind.__name__}.{name}", "(the page does not name it)"), (kind, name)
    assert set(said) == {"run"}


@pytest.mark.parametrize("page", ["README", "privacy", "trust-boundaries", "messages", "what-can-be-learned"])
def test_no_page_says_that_the_purpose_stays_with_the_initiator(page):
    sentences = re.split(r"[.|\n;]", PAGES[page])
    claims = [s for s in sentences if "purpose" in s and re.search(r"\b(stays?|remains?|keeps?|never)\b", s)]
    assert claims == []


def test_the_page_on_messages_names_the_present_version():
    assert f"| 4, 5 | the version, {VERSION} |" in PAGES["messages"]
    assert f"the present one, {VERSION}, from others" in " ".join(PAGES["messages"].split())


def _drawing(script="draw_architecture"):
    spec = spec_from_file_location(script, ROOT / "docs" / f"{script}.py")
    module = sys.modules[script] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [rows] = [contract["layers"] for contract in contracts["contracts"] if contract["type"] == "layers"]
    return [[name.strip(" ()") for name in row.split("|")] for row in rows]


def test_the_picture_and_the_table_of_the_layers_have_those_of_the_contract():
    assert [layer.names.split(", ") for layer in _drawing().LAYERS] == _layers()
    rows = _rows(_section("architecture", "The layers, and who has what"))
    listed = [name for names, *_ in rows for name in CODE.findall(names)]
    assert listed == [name for row in _layers() for name in row]


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("draw_architecture", ("architecture.svg", "way_of_a_reward.svg")),
        ("draw_network", ("who_runs_what.svg", "trust_boundaries.svg")),
    ],
)
def test_the_pictures_are_those_that_the_script_draws(script, names, tmp_path, monkeypatch):
    drawing = _drawing(script)
    monkeypatch.setattr(drawing, "OUT", tmp_path)
    drawing.main()
    for name in names:
        drawn, kept = ((folder / name).read_text(encoding="utf-8") for folder in (tmp_path, ROOT / "docs" / "_static"))
        assert re.findall(r"<text.*?>(.*?)</text>", drawn) == re.findall(r"<text.*?>(.*?)</text>", kept)


def test_a_reward_goes_through_the_modules_of_its_picture_and_is_packed_once(tmp_path):
    way = follow(100, tmp_path)
    stops = [module for stop in _drawing().STOPS for module in stop.modules.split(" · ") if module != "reach"]
    assert {f"assistlearn.{module}" for module in stops} <= way.modules.keys()
    assert way.made() == {"packed": 1, "unpacked": 2, "encoded": 2, "decoded": 2}


def test_every_event_is_listed_with_what_it_says():
    listed = {
        name.strip("`"): re.sub(r"\([^)]*\)", "", says)
        for name, _, says in _rows(PAGES["run-folder"].partition("\n### The list\n")[2])[1:]
    }
    facts = {n: kind for n, kind in Event.kinds.items() if kind.__module__ == "assistlearn.events.facts"}
    del facts["UnknownEvent"]  # what this release does not know
    assert {name: CODE.findall(says) for name, says in listed.items()} == {
        name: [field.name for field in fields(kind)] for name, kind in facts.items()
    }


def test_every_key_of_a_task_file_is_on_its_page_with_its_default():
    shown = {}
    for heading, table, earlier in (
        ("Keys at the top", _TaskKeys, {"patience", "training"}),
        ("`[training]`", _Training, set(OLDER_NAMES)),
    ):
        rows = {CODE.findall(key)[0]: default for key, *_, default in _rows(_section("task-file", heading))[1:]}
        assert set(rows) == {field.encode_name for field in msgspec.structs.fields(table)} - earlier
        shown |= rows
    for name in (name for name, known in SETTINGS.items() if known.runs):
        default = SETTINGS[name].goes_with_method or DEFAULTS_OF_RUNS.get(name, getattr(Plan, name))
        assert shown[key_of(name)].strip("`").strip('"') == ("none" if default is None else str(default)), name
    for example in re.findall(r"^```toml\n(.*?)^```$", PAGES["task-file"], flags=re.DOTALL | re.MULTILINE):
        from_toml(tomllib.loads(example), _TaskKeys, Places(Path("task.toml")))


def test_a_word_of_the_glossary_has_one_meaning():
    text = PAGES["glossary"].partition("\n## The paper's symbols\n")[0]
    words = [word for cell, *_ in _rows(text) for word in cell.split(", ") if word != "word"]
    assert len(words) == len(set(words))
    assert not {"service", "household", "leader", "counter", "line"} & set(words)
