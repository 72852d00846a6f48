"""A few thousand spoiled messages, in the way ``bench/fuzz.py`` sends a hundred thousand."""

from __future__ import annotations

import importlib.util
import signal
import sys
from pathlib import Path

FILE = Path(__file__).parent.parent.parent / "bench" / "fuzz.py"


def test_no_spoiled_message_breaks_a_decoder_a_desk_or_an_initiator(monkeypatch):
    spec = importlib.util.spec_from_file_location("bench_fuzz", FILE)
    bench = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "bench_fuzz", bench)
    spec.loader.exec_module(bench)
    before = signal.signal(signal.SIGALRM, bench._hang)
    try:
        report = bench.fuzz(3_000, seed=1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert report.crashes == []
    assert report.messages == 3_000
    assert report.finished_desks > 0
    seen = {outcome for _, outcome in report.outcomes}
    assert {
        "codec: message",
        "arrays: ProtocolError",
        "desk: TurnTaken",
        "desk: malformed",
        "desk: out-of-order",
    } <= seen
