"""What pages say about the code is what the code is."""

import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Literal, get_args, get_origin

import msgspec

from assistlearn.events import Event
from assistlearn.plan import DEFAULTS_OF_RUNS, SETTINGS, Plan
from assistlearn.protocol.messages import REPLIES, REQUESTS, VERSION
from assistlearn.reach.flare.task_file import _TaskKeys, _Training, key_of
from assistlearn.toml import Places, from_toml
from bench.way_of_a_reward import follow
from tests.documentation import pages

ROOT = Path(__file__).parent.parent
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in pages()}
CODE = re.compile(r"`([\w.]+)`")


def _section(page, heading):
    return PAGES[page].partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _rows(text):
    """The rows of the tables in a text, each as a list of its cells."""
    lines = [line for line in text.splitlines() if line.startswith("| ") and set(line) - set("|-: ")]
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


def test_the_page_on_messages_names_the_present_version():
    assert f"| 4, 5 | the version, {VERSION} |" in PAGES["messages"]
    assert f"the version of the protocol, which is {VERSION}." in " ".join(PAGES["messages"].split())


def _layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    [rows] = [contract["layers"] for contract in contracts["contracts"] if contract["type"] == "layers"]
    return [[name.strip(" ()") for name in row.split("|")] for row in rows]


def test_the_table_of_the_layers_has_those_of_the_contract():
    rows = _rows(_section("architecture", "The layers, and who has what"))
    listed = [name for names, *_ in rows for name in CODE.findall(names)]
    assert listed == [name for row in _layers() for name in row]


def test_a_reward_is_packed_once_and_sent_on_as_its_owner_made_it(tmp_path):
    assert follow(100, tmp_path).made() == {"packed": 1, "unpacked": 2, "encoded": 2, "decoded": 2}


def test_every_event_is_listed_with_what_it_says():
    listed = {
        name.strip("`"): re.sub(r"\([^)]*\)", "", says)
        for name, _, says in _rows(PAGES["run-folder"].partition("\n### The list\n")[2])[1:]
    }
    facts = {n: kind for n, kind in Event.kinds.items() if kind.__module__ == "assistlearn.events"}
    del facts["UnknownEvent"]  # what this release does not know
    assert {name: CODE.findall(says) for name, says in listed.items()} == {
        name: [field.name for field in fields(kind)] for name, kind in facts.items()
    }


def test_every_key_of_a_task_file_is_on_its_page_with_its_default():
    shown = {}
    for heading, table, left_out in (("Keys at the top", _TaskKeys, {"training"}), ("`[training]`", _Training, set())):
        rows = {CODE.findall(key)[0]: default for key, *_, default in _rows(_section("task-file", heading))[1:]}
        assert set(rows) == {field.encode_name for field in msgspec.structs.fields(table)} - left_out
        shown |= rows
    for name in (name for name, known in SETTINGS.items() if known.runs):
        default = SETTINGS[name].goes_with_method or DEFAULTS_OF_RUNS.get(name, getattr(Plan, name))
        assert shown[key_of(name)].strip("`").strip('"') == ("none" if default is None else str(default)), name
    for example in re.findall(r"^```toml\n(.*?)^```$", PAGES["task-file"], flags=re.DOTALL | re.MULTILINE):
        from_toml(tomllib.loads(example), _TaskKeys, Places(Path("task.toml")))


def test_the_page_on_the_paper_has_the_verdicts_of_its_reproduction():
    whole = (ROOT / "paper" / "REPRODUCTION.md").read_text(encoding="utf-8")
    claims = _rows(whole.partition("\n## All claims\n")[2].partition("\n## ")[0])[1:]
    found = {(claim, re.findall(r"\d\w?", figure)[0], verdict.strip("* ")) for figure, claim, verdict in claims}
    head, *rows = _rows(PAGES["reproduction"])
    verdicts = ["holds", "holds in part", "does not hold", "cannot be judged"]
    assert [name.replace(" in figures", "") for name in head[1:]] == [verdicts[0], "in part", *verdicts[2:]]
    shown = {
        (claim, figure, verdict)
        for claim, *cells in rows
        for verdict, cell in zip(verdicts, cells, strict=True)
        for figure in re.findall(r"\w+", cell)
    }
    assert shown == found
