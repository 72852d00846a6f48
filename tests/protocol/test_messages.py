"""The messages and their fields are the privacy statement: a new one must be added here, by hand, to pass."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given, settings

from assistlearn.protocol import arrays, decode, encode
from assistlearn.protocol import arrays as levels
from assistlearn.protocol import messages as m
from tests.protocol.strategies import MESSAGES

LEAVES_THE_INITIATOR = {
    "Open": ["initiator", "purpose", "alignment", "overlap"],
    "Align": ["purpose", "step", "data"],
    "Begin": [
        "method",
        "n_samples",
        "n_classes",
        "labels",
        "seed",
        "turn_seeds",
        "weights",
        "holdout",
        "reward",
        "cv",
        "loss",
        "shrinkage",
        "models_per_turn",
        "score_bits",
        "first_round",
        "epsilon",
        "folds",
    ],
    "Recall": ["earlier", "still", "turns"],
    "TakeTurn": ["turn", "round", "since", "news"],
    "TakeAgain": ["turn", "round", "since", "news", "earlier"],
    "End": ["n_rounds", "last_turn"],
    "Predict": ["start", "stop"],
    "Forget": [],
    "Propose": ["initiator", "purpose", "method", "n_samples", "n_rounds", "withdrawn"],
}
LEAVES_A_HELPER = {
    "Opened": ["agent", "n_rows"],
    "Aligned": ["step", "data"],
    "Ready": ["n_held"],
    "Recalled": ["turns", "why", "table_changed"],
    "TurnTaken": ["turn", "reward", "model_weight", "mean_reward", "perfect", "holdout"],
    "Ended": ["n_models"],
    "Scores": ["known", "scores", "total_weight"],
    "Forgotten": ["n_models"],
    "Consent": ["state", "request", "since", "text"],
    "Problem": ["kind", "text", "known"],
}
INSIDE_A_TURN = {"News": ["turn", "round", "model_weight", "reward"]}
ARRAYS = {
    "Bits": ["n", "ones", "coding", "data"],
    "ClassCodes": ["n", "n_classes", "coded", "data"],
    "Numbers": ["n", "data"],
    "Levels": ["n", "bits", "scale", "coded", "data"],
}


def own_fields(kind: type[msgspec.Struct]) -> list[str]:
    return [name for name in kind.__struct_fields__ if name != "run"]


def test_these_are_all_requests_and_all_their_fields():
    assert {kind.__name__: own_fields(kind) for kind in m.REQUESTS} == LEAVES_THE_INITIATOR


def test_these_are_all_replies_and_all_their_fields():
    assert {kind.__name__: own_fields(kind) for kind in m.REPLIES} == LEAVES_A_HELPER


def test_these_are_all_parts_of_messages_and_all_their_fields():
    here = [kind for kind in vars(m).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    parts = [kind for kind in here if kind.__module__ == m.__name__ and not issubclass(kind, m.Message)]
    assert {kind.__name__: own_fields(kind) for kind in parts} == INSIDE_A_TURN
    known = (vars(arrays) | vars(levels)).values()
    forms = [kind for kind in known if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    assert {kind.__name__: own_fields(kind) for kind in forms} == ARRAYS


def test_no_message_is_forgotten_by_the_codec():
    kinds = {kind for kind in vars(m).values() if isinstance(kind, type) and issubclass(kind, m.Message)}
    assert kinds - {m.Message} == {*m.REQUESTS, *m.REPLIES}


@pytest.mark.parametrize("kind", [*m.REQUESTS, *m.REPLIES, m.News, *map((vars(arrays) | vars(levels)).get, ARRAYS)])
def test_a_message_is_frozen_and_knows_no_other_fields(kind):
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.forbid_unknown_fields


def test_only_inert_types_are_in_messages():
    """Numbers, text, bytes, and our own forms: nothing that a decoder could be talked into building."""
    seen, left = set(), [*m.REQUESTS, *m.REPLIES]
    while left:
        kind = left.pop()
        if kind in seen:
            continue
        seen.add(kind)
        inner = msgspec.inspect.type_info(kind)
        for field in inner.fields:
            assert "Any" not in str(field.type), f"{kind.__name__}.{field.name} could be anything"
            left += [part for part in _structs(field.type) if part not in seen]
    assert {kind.__name__ for kind in seen} == {*LEAVES_THE_INITIATOR, *LEAVES_A_HELPER, *INSIDE_A_TURN, *ARRAYS}


def _structs(info: msgspec.inspect.Type) -> list[type]:
    inert = (
        msgspec.inspect.IntType,
        msgspec.inspect.FloatType,
        msgspec.inspect.BoolType,
        msgspec.inspect.StrType,
        msgspec.inspect.BytesType,
        msgspec.inspect.NoneType,
        msgspec.inspect.LiteralType,
    )
    if isinstance(info, msgspec.inspect.StructType):
        return [info.cls]
    if isinstance(info, msgspec.inspect.UnionType):
        return [part for each in info.types for part in _structs(each)]
    if isinstance(info, msgspec.inspect.ListType):
        return _structs(info.item_type)
    assert isinstance(info, inert), info
    return []


def table() -> dict[str, dict[str, str]]:
    """The table of the module's docstring: for each message its direction and, for each field, what it says."""
    said: dict[str, dict[str, str]] = {}
    name = ""
    for line in (m.__doc__ or "").splitlines():
        if not line.startswith("| "):
            continue
        message, goes, fields, meaning = (cell.strip() for cell in line.strip("|").split("|"))
        if message and message != "Message":
            name = message
            said[name] = {"goes": goes}
        for field in re.findall(r"\w+", fields) if name else []:
            said[name][field] = meaning
    return said


def test_the_table_names_every_message_and_every_field():
    said = table()
    assert list(said.pop("*all*")) == ["goes", "run"]
    expected = LEAVES_THE_INITIATOR | LEAVES_A_HELPER | INSIDE_A_TURN
    assert {name: set(row) - {"goes"} for name, row in said.items()} == {
        name: set(fields) for name, fields in expected.items()
    }


def test_the_table_says_who_says_what_to_whom():
    said = table()
    assert {name for name, row in said.items() if row["goes"] == "I to H"} == set(LEAVES_THE_INITIATOR)
    assert {name for name, row in said.items() if row["goes"] == "H to I"} == set(LEAVES_A_HELPER)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_message_survives_the_wire(kind):
    @settings(max_examples=40)
    @given(MESSAGES[kind])
    def there_and_back(message):
        assert decode(encode(message)) == message

    there_and_back()
