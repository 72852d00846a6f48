"""The section about the messages that were exchanged with each helper."""

from __future__ import annotations

from functools import partial

from assistlearn.evaluation.figures_in_words import figure, size
from assistlearn.pages.messages_in_words import WORDS
from assistlearn.pages.pictures import drawn
from assistlearn.pages.section import PagePicture, PageTable, Section
from assistlearn.pages.view import Traffic, View


def exchange(view: View) -> Section | None:
    """Return the section; None before the first message."""
    there = tuple(each for each in view.exchanges if each.rows)
    if not there:
        return None
    by_ledger = view.counted_by == "ledger"
    source = "the ledger of its initiator" if by_ledger else "its events, as the initiator's ledger is not at hand"
    words = (
        f"Every message of the run, counted by {source}. Helpers send each other nothing. Bits are per training sample "
        "and turn: what a helper is told of the others before its turn, and what it answers.",
    )
    names = tuple(each.helper for each in there)
    sent, received = (tuple(each.bytes(way) for each in there) for way in ("sent", "received"))
    label = "Bytes to and from each helper: " + "; ".join(
        f"{each.helper}: {size(each.bytes('sent'))} to it, {size(each.bytes('received'))} from it" for each in there
    )
    return Section(
        "exchange",
        "What was exchanged",
        words,
        picture=PagePicture(label, partial(drawn.exchanged, names, sent, received)),
        tables=(*_in_training(view), _sums(there), _types(there)),
    )


def _in_training(view: View) -> tuple[PageTable, ...]:
    columns = ("with", "sent", "received", "bits per sample: answer", "news of a turn")
    rows = tuple(
        (row.helper, size(row.sent), size(row.received), figure(row.answer_bits, 2), figure(row.news_bits, 2))
        for row in view.trained_with
    )
    return (PageTable("In training", columns, rows),) if rows else ()


def _sums(there: tuple[Traffic, ...]) -> PageTable:
    columns = ("with", "to it", "messages", "from it", "messages", "turns", "bits to it", "bits from it")
    rows = tuple(
        (
            each.helper,
            size(each.bytes("sent")),
            f"{each.messages('sent'):,}",
            size(each.bytes("received")),
            f"{each.messages('received'):,}",
            f"{each.turns:,}" if each.turns else "-",
            figure(each.bits_sent, 2),
            figure(each.bits_received, 2),
        )
        for each in there
    )
    return PageTable("Everything so far: bytes and messages with each helper; bits per sample and turn", columns, rows)


def _types(there: tuple[Traffic, ...]) -> PageTable:
    counts: dict[tuple[str, str], list[int]] = {}
    for each in there:
        for row in each.rows:
            count = counts.setdefault((row.direction, row.type), [0, 0])
            count[0] += row.messages
            count[1] += row.bytes
    ways = {"sent": "to helpers", "received": "from helpers"}
    rows = tuple(
        (type_, ways[way], WORDS.get(type_, "a message of another release"), f"{messages:,}", size(n_bytes))
        for (way, type_), (messages, n_bytes) in sorted(counts.items(), key=lambda item: item[0][0] == "received")
    )
    return PageTable(
        "What each kind of message says", ("message", "way", "what it says", "messages", "bytes"), rows, words=(1, 2)
    )
