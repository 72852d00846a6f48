"""A thousand spoiled messages, in the way ``bench.fuzz`` sends a hundred thousand."""

from __future__ import annotations

import signal

from bench import fuzz


def test_no_spoiled_message_breaks_a_decoder_a_service_or_an_initiator():
    before = signal.signal(signal.SIGALRM, fuzz._hang)
    try:
        report = fuzz.fuzz(1_000, seed=1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert report.crashes == []
    assert report.messages == 1_000
    assert report.finished_services > 0
    seen = {outcome for _, outcome in report.outcomes}
    assert {
        "codec: message",
        "arrays: ProtocolError",
        "service: TurnTaken",
        "service: malformed",
        "service: out-of-order",
    } <= seen
