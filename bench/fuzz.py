"""Spoil the messages of real runs, and look for a crash.

    python -m bench.fuzz [--messages 100000] [--seed 0] [--json]

Runs of three agents are recorded, in a hard method, a soft one and one in which every agent boosts alone. Their
messages are then spoiled: bits flipped, cut off, spliced with another, a field changed and encoded again, random bytes,
or left as they are but sent at the wrong time. Each goes to

- the codec, and every array in what it reads to its own decoder;
- a live service in the middle of the recorded run;
- the initiator's side: what a correspondent, a participant and an alignment make of such a reply.

Allowed is a message, a ``ProtocolError`` (``AlignmentError`` inside an alignment) or, from the service, a reply.
Everything else is a crash; so is an answer that takes longer than 20 seconds, and a refused message after which the
run's files have changed. Services that refused everything must then end the recorded run with the recorded replies.
"""

from __future__ import annotations

import argparse
import json
import logging
import math
import random
import resource
import signal
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Union

import msgspec
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from assistlearn.agent.agent import Turn
from assistlearn.agent.service import AgentService
from assistlearn.alignment import HashInitiator, Ids, Minimum
from assistlearn.core.state import DTYPES
from assistlearn.errors import AlignmentError, AssistLearnError, ProtocolError
from assistlearn.initiator.folder import RunFolder
from assistlearn.initiator.run import Connection
from assistlearn.initiator.training import RemoteParticipant
from assistlearn.methods import method_named
from assistlearn.protocol import Limits, decode, encode
from assistlearn.protocol import messages as m
from assistlearn.protocol.arrays import (
    Bits,
    ClassCodes,
    Levels,
    Numbers,
    unpack_bits,
    unpack_codes,
    unpack_levels,
    unpack_numbers,
    unpack_votes,
)
from assistlearn.protocol.codec import HEADER_BYTES, MARK
from tests.agent.recording import SECRET, Recording, files_of, record

HANG_SECONDS = 20
PER_SERVICE = 250
"""Messages that one service gets before it must end its run."""

SPOKEN: Any = Union[(*m.REQUESTS, *m.REPLIES)]
LIMITS = Limits(body=2**24, values=2**20)
METHODS: dict[str, dict[str, Any]] = {
    "ascii": {"method": "ascii", "holdout": 0.2},
    "soft": {"method": "soft", "holdout": 0.2},
    "ensemble": {"method": "ensemble"},
    "psi": {"method": "simple", "alignment": "psi", "n_rounds": 1},
}
"""Runs to be recorded. The helper's key of an alignment is random, so the last one cannot be played back beyond it."""

INTERESTING = [
    *(0, 1, -1, 2, 7, 255, 256, 65_535, 65_536, 2**31 - 1, 2**31, 2**32, 2**63 - 1, -(2**63), 2**64 - 1),
    *(0.0, -0.0, 0.5, 1.0, -1.0, 1e6, 1e300, -1e300, 5e-324, math.nan, math.inf, -math.inf),
    *(
        None,
        True,
        False,
        "",
        "raw",
        "range",
        "x" * 100,
        "../..",
        "\u2028",
        b"",
        b"\0",
        b"\xff" * 9,
        [],
        [None],
        {},
        {"n": 1},
    ),
]
WORDS = ["ascii", "simple", "ensemble", "soft", "auto", "train", "predict", "hash", "psi", "range", "raw", "test-run"]


class HangError(BaseException):
    """An answer did not come in time."""


@dataclass
class Report:
    """What became of the messages."""

    messages: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    crashes: list[dict[str, str]] = field(default_factory=list)
    finished_services: int = 0
    seconds: float = 0.0
    megabytes: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether nothing crashed."""
        return not self.crashes

    def crash(self, where: str, way: str, data: bytes, error: BaseException | str) -> None:
        """Take note of a crash, with the message that caused it."""
        self.crashes.append({"where": where, "way": way, "error": repr(error), "message": data.hex()[:2_000]})


# -- how messages are spoiled --


def flipped(data: bytes, rng: random.Random) -> bytes:
    spoiled = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4, 16])):
        spoiled[rng.randrange(len(spoiled))] ^= 1 << rng.randrange(8)
    return bytes(spoiled)


def framed(body: bytes) -> bytes:
    return struct.pack("<4sH", MARK, m.VERSION) + body


def spoiled_by_flips(pool: list[bytes], rng: random.Random) -> bytes:
    return flipped(rng.choice(pool), rng)


def spoiled_by_flips_in_the_body(pool: list[bytes], rng: random.Random) -> bytes:
    data = rng.choice(pool)
    return data[:HEADER_BYTES] + flipped(data[HEADER_BYTES:], rng)


def spoiled_by_cuts(pool: list[bytes], rng: random.Random) -> bytes:
    data = rng.choice(pool)
    cut = data[: rng.randrange(len(data) + 1)]
    return framed(cut[HEADER_BYTES:]) if rng.random() < 0.5 else cut


def spoiled_by_splices(pool: list[bytes], rng: random.Random) -> bytes:
    one, two = (rng.choice(pool)[HEADER_BYTES:] for _ in range(2))
    body = one[: rng.randrange(len(one) + 1)] + two[rng.randrange(len(two) + 1) :]
    return framed(body)


def spoiled_by_noise(pool: list[bytes], rng: random.Random) -> bytes:
    noise = rng.randbytes(rng.choice([0, 3, 5, 6, 7, 60, 400]))
    return noise if rng.random() < 0.3 else framed(noise)


def spoiled_by_fields(pool: list[bytes], rng: random.Random) -> bytes:
    """Change one value somewhere in the message, and give it a header that fits if it is still a message."""
    data = rng.choice(pool)
    tree = msgspec.msgpack.decode(data[HEADER_BYTES:])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        for parent, key in rng.sample(list(_places(tree)) or [(tree, 0)], 1):
            _spoil(parent, key, rng)
    try:
        message: m.Message = msgspec.convert(tree, type=SPOKEN)
        return encode(message)
    except (msgspec.ValidationError, struct.error, OverflowError):
        pass
    try:
        return framed(msgspec.msgpack.encode(tree))
    except OverflowError:
        return data


def spoiled_by_order(pool: list[bytes], rng: random.Random) -> bytes:
    return rng.choice(pool)


WAYS = {
    "flips": spoiled_by_flips,
    "flips in the body": spoiled_by_flips_in_the_body,
    "cuts": spoiled_by_cuts,
    "splices": spoiled_by_splices,
    "noise": spoiled_by_noise,
    "fields": spoiled_by_fields,
    "order": spoiled_by_order,
}
SHARES = {"flips": 1, "flips in the body": 2, "cuts": 1, "splices": 1, "noise": 1, "fields": 5, "order": 1}


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in nested lists and maps where a value stands."""
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        yield tree, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _spoil(parent: Any, key: Any, rng: random.Random) -> None:
    if (isinstance(parent, list) and key >= len(parent)) or (isinstance(parent, dict) and key not in parent):
        return  # an earlier change has taken it away
    value = parent[key]
    change = rng.random()
    if change < 0.04:
        del parent[key]
    elif change < 0.07 and isinstance(parent, dict):
        parent[rng.choice(["extra", "run", "n", "reward"])] = rng.choice(INTERESTING)
    elif change < 0.12 and isinstance(parent, list):
        parent.insert(key, value)
    elif change < 0.2:
        parent[key] = rng.choice(INTERESTING)
    else:
        parent[key] = _like(value, rng)


def _like(value: Any, rng: random.Random) -> Any:
    """Return another value of the same type, so that the message is still one."""
    if rng.random() < 0.3:
        return rng.choice([other for other in INTERESTING if type(other) is type(value)] or INTERESTING)
    if isinstance(value, bytes):
        return rng.choice([flipped(value, rng) if value else b"x", value[: len(value) // 2], value + rng.randbytes(4)])
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice([-1, 1, 2, -2, 1_000, -value, value])
    if isinstance(value, float):
        return value * rng.choice([-1.0, 0.5, 1e9, 1e-9, math.nan, math.inf])
    if isinstance(value, str):
        return rng.choice([*WORDS, value + "x", value[:-1]])
    if isinstance(value, list):
        return rng.sample(value, len(value)) + value[: rng.randrange(2)]
    return rng.choice(INTERESTING)


# -- who gets them --


def try_decoders(data: bytes, report: Report, way: str) -> m.Message | None:
    """Give bytes to the codec, and the arrays in what comes out to their decoders."""
    try:
        message = decode(data, LIMITS)
    except ProtocolError as error:
        report.outcomes[way, f"codec: {type(error).__name__}"] += 1
        return None
    arrays = list(_arrays(message))
    refused = 0
    for array in arrays:
        try:
            _unpack(array)
        except ProtocolError:
            refused += 1
    report.outcomes[way, "codec: message" if not refused else "arrays: ProtocolError"] += 1
    return message


def _arrays(part: Any) -> Iterator[Any]:
    if isinstance(part, Bits | ClassCodes | Levels | Numbers):
        yield part
    elif isinstance(part, msgspec.Struct):
        for name in part.__struct_fields__:
            yield from _arrays(getattr(part, name))
    elif isinstance(part, list):
        for item in part:
            yield from _arrays(item)


def _unpack(array: Any) -> None:
    """Unpack an array as somebody would who expects exactly as many values as it claims, up to the limit."""
    n = min(max(array.n, 0), LIMITS.values)
    match array:
        case Bits():
            unpack_bits(array, n)
        case ClassCodes():
            unpack_codes(array, n, array.n_classes)
        case Numbers():
            unpack_numbers(array, n)
            unpack_numbers(array, n, logarithms=True)
        case Levels():
            if array.bits in DTYPES:
                unpack_levels(array, n, array.bits)


@dataclass
class LiveService:
    """A service in the middle of a recorded run."""

    recording: Recording
    home: Path
    stage: int
    tainted: bool = False

    def __post_init__(self) -> None:
        self.service: AgentService = self.recording.service(self.home, self.stage)
        self._signature = self._sign()

    def _sign(self) -> dict[str, tuple[int, int]]:
        runs = self.home / "runs"
        found = ((path, path.stat()) for path in runs.rglob("*") if path.is_file()) if runs.exists() else ()
        return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in found if path.name != "counted.json"}

    def try_it(self, data: bytes, report: Report, way: str) -> None:
        """Let the service answer, and look for traces of what it refused."""
        reply = decode(self.service.answer(data))
        signature = self._sign()
        if isinstance(reply, m.Problem):
            report.outcomes[way, f"service: {reply.kind}"] += 1
            if signature != self._signature:
                report.crash("trace", way, data, f"{reply.kind}, but files changed: {reply.text}")
                self.tainted = True
        else:
            report.outcomes[way, f"service: {type(reply).__name__}"] += 1
            self.tainted |= signature != self._signature or isinstance(reply, m.Aligned)
        self._signature = signature

    def finish(self, report: Report) -> None:
        """Unless a message was accepted that belongs to another run of events, end the recorded run."""
        if self.tainted:
            return
        rest = zip(self.recording.requests[self.stage :], self.recording.replies[self.stage :], strict=True)
        for request, reply in rest:
            if self.service.answer(request) != reply:
                report.crash("goes on", "", request, "another reply than was recorded")
                return
        if files_of(self.home):
            report.crash("goes on", "", b"", "files are left after Forget")
        report.finished_services += 1


@dataclass
class LiveInitiator:
    """What the initiator's side makes of a reply."""

    recording: Recording

    def __post_init__(self) -> None:
        begin = self.recording.request(m.Begin)
        method = method_named(begin.method, msgspec.structs.asdict(begin))
        self._reply = b""
        self._lab = Connection("lab", self)
        n = begin.n_samples
        n_aside = 0 if begin.holdout is None else int(unpack_bits(begin.holdout, n).sum())
        codes, nowhere = unpack_codes(begin.labels, n - n_aside, begin.n_classes), RunFolder(Path("nowhere"))
        self._participant = RemoteParticipant(self._lab, nowhere, begin.run, method, codes, begin.n_classes, n_aside)
        self._aligner = HashInitiator(Ids([f"p-{i:04d}" for i in range(178)]), SECRET, "lab", Minimum(0, 0.0))
        self._aligner.start()

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the bytes under test: this is the correspondent's transport."""
        return self._reply

    def try_it(self, data: bytes, report: Report, way: str) -> None:
        """Take bytes for a reply, whatever it may be to."""
        self._reply = data
        try:
            reply = self._lab.ask_any(m.Forget(run="test-run")).message
            if isinstance(reply, m.TurnTaken):
                self._participant.read(Turn(reply.turn, 1, 0), reply)
            elif isinstance(reply, m.Aligned):
                self._aligner.finish(reply.data)
            elif isinstance(reply, m.Scores):
                there = int(unpack_bits(reply.known, 40).sum())
                unpack_votes(reply.scores, there, 3)
        except (ProtocolError, AlignmentError) as error:
            report.outcomes[way, f"initiator: {type(error).__name__}"] += 1
            return
        report.outcomes[way, f"initiator: {type(reply).__name__}"] += 1


def fuzz(n_messages: int, seed: int = 0, folder: Path | None = None, progress: bool = False) -> Report:
    """Return what became of so many spoiled messages."""
    rng = random.Random(seed)
    report = Report()
    logging.getLogger("assistlearn.agent").setLevel(logging.CRITICAL)
    in_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=folder or (in_memory if in_memory.is_dir() else None)) as place:
        home = Path(place)
        recordings = {name: record(home / name, **options) for name, options in METHODS.items()}
        start, memory = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        batches = range(0, n_messages, PER_SERVICE)
        for batch in track(batches, "spoiling") if progress else batches:
            name, recording = rng.choice(list(recordings.items()))
            pool = [*recording.requests, *recording.replies]
            stage = 1 if name == "psi" else rng.randrange(len(recording.requests))
            service = LiveService(recording, home / f"service-{batch}", stage)
            initiator = LiveInitiator(recording)
            for _ in range(min(PER_SERVICE, n_messages - batch)):
                [way] = rng.choices(list(SHARES), list(SHARES.values()))
                due = [recording.requests[service.stage]] if rng.random() < 0.4 else pool  # these get furthest
                data = WAYS[way](due, rng)
                _guarded(data, way, service, initiator, report)
                if service.tainted:
                    service = LiveService(recording, home / f"service-{batch}-{report.messages}", service.stage)
            if name != "psi":
                _finish(service, report)
        report.seconds = time.perf_counter() - start
        report.megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    return report


def _guarded(data: bytes, way: str, service: LiveService, initiator: LiveInitiator, report: Report) -> None:
    report.messages += 1
    for where, target in (("decoders", None), ("service", service), ("initiator", initiator)):
        signal.setitimer(signal.ITIMER_REAL, HANG_SECONDS)
        try:
            if target is None:
                try_decoders(data, report, way)
            else:
                target.try_it(data, report, way)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a panic of compiled code is no Exception
            report.crash(where, way, data, error)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _finish(service: LiveService, report: Report) -> None:
    try:
        service.finish(report)
    except (AssistLearnError, OSError, AssertionError) as error:
        report.crash("goes on", "", b"", error)


def _hang(*_: Any) -> None:
    raise HangError(f"no answer for {HANG_SECONDS} seconds")


def show(report: Report, console: Console) -> None:
    table = Table(title=f"{report.messages:,} messages: {len(report.crashes)} crashes")
    table.add_column("what became of them")
    for way in WAYS:
        table.add_column(way, justify="right")
    for outcome in sorted({outcome for _, outcome in report.outcomes}):
        table.add_row(outcome, *(f"{report.outcomes[way, outcome]:,}" for way in WAYS))
    console.print(table)
    console.print(
        f"{report.finished_services:,} services that refused everything ended their run as recorded; "
        f"{report.seconds:.0f} s, memory grew by {report.megabytes:.0f} MB."
    )
    for crash in report.crashes[:10]:
        console.print_json(data=crash)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    signal.signal(signal.SIGALRM, _hang)
    np.seterr(all="raise", under="ignore")  # arithmetic on what was accepted must not overflow either
    report = fuzz(arguments.messages, arguments.seed, progress=not arguments.json)
    if arguments.json:
        outcomes = {f"{way}: {outcome}": count for (way, outcome), count in sorted(report.outcomes.items())}
        print(json.dumps({"messages": report.messages, "crashes": report.crashes, "outcomes": outcomes}))
    else:
        show(report, Console())
    return 0 if report.passed else 1


if __name__ == "__main__":
    sys.exit(main())
