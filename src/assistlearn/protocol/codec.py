"""Messages as bytes, the bits that they release, the texts in them, and the transport that carries them.

The header is 6 bytes: the mark ``ALMS`` and the version (2 bytes, least significant first). The body is a list: the
type of the message, then its fields in their order. Decoding creates objects of the listed types and nothing else. A
receiver sets two limits. It refuses a message with too many bytes before it reads the body, and a message whose arrays
claim too many values before it unpacks any of them.
"""

from __future__ import annotations

import struct
import threading
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypeVar, Union

import msgspec

from assistlearn.core.ignorance import NEGLIGIBLE
from assistlearn.errors import ProtocolError, UnreachableError
from assistlearn.protocol.arrays import Bits, ClassCodes, Levels, Numbers
from assistlearn.protocol.messages import REPLIES, REQUESTS, VERSION, Align, Message, Predict, TurnTaken

MARK = b"ALMS"

_HEADER = struct.Struct("<4sH")

HEADER_BYTES = _HEADER.size


@dataclass(frozen=True)
class Limits:
    """The largest message that a receiver accepts: bytes in its body, and values in its arrays when decoded."""

    body: int = 2**31
    values: int = 2**31


@dataclass(frozen=True)
class Encoded:
    """A message and its bytes. They are made once, so that the ledger, the folder and the wire have the same."""

    message: Message
    content: bytes

    @classmethod
    def of(cls, message: Message) -> Encoded:
        return cls(message, encode(message))


class VersionError(ProtocolError):
    """A message of a version that this release does not speak."""


def type_of(message: Message | type[Message]) -> str:
    """Return the type of a message, or of a class of messages, by the name that ledgers and events use.

    >>> type_of(Predict(run="r", start=0, stop=1))
    'predict'
    """
    return str(message.__struct_config__.tag)


def is_for_prediction(request: Message) -> bool:
    """Return whether a request asks for votes, or prepares for that. An agent keeps only the ledger's entries of it."""
    return isinstance(request, Predict) or (isinstance(request, Align) and request.purpose == "predict")


def encode(message: Message) -> bytes:
    return _HEADER.pack(MARK, VERSION) + _encoder.encode(message)


def decode(data: bytes, limits: Limits | None = None) -> Message:
    """Return the message in some bytes; refuse one that is malformed, too large or of another version."""
    limits = limits or Limits()
    if len(data) < HEADER_BYTES:
        raise ProtocolError(f"A message has a header of {HEADER_BYTES} bytes; these are {len(data)} bytes in all.")
    mark, version = _HEADER.unpack_from(data)
    if mark != MARK:
        raise ProtocolError("These bytes are not a message of assistlearn.")
    if version != VERSION:
        raise VersionError(f"The message uses version {version} of the protocol; this release uses version {VERSION}.")
    body = memoryview(data)[HEADER_BYTES:]
    if len(body) > limits.body:
        raise ProtocolError(f"The message has {len(body)} bytes; at most {limits.body} are accepted.")
    try:
        message = _speech.decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # the second: text that is not UTF-8
        raise ProtocolError(f"The message does not decode: {error}") from None
    if _count(message) > limits.values:
        raise ProtocolError(
            f"The message claims to have {_count(message)} values; at most {limits.values} are accepted."
        )
    return message


def _count(message: Message) -> int:
    values = 0
    parts: list[Any] = [message]
    while parts:
        part = parts.pop()
        if isinstance(part, Bits | ClassCodes | Levels | Numbers):
            values += max(part.n, 0)
        elif isinstance(part, msgspec.Struct):
            parts += msgspec.structs.astuple(part)
        elif isinstance(part, list):
            parts += part
    return values


class _Speech:
    """The message types that are understood. Objects of other types are never created."""

    def __init__(self) -> None:
        self._own = {type_of(kind): kind for kind in (*REQUESTS, *REPLIES)}
        self._types = dict(self._own)
        self.learn()

    def learn(self, *types: type[Message]) -> None:
        taken = [kind for kind in types if self._own.get(type_of(kind), kind) is not kind]
        if taken:
            raise ProtocolError(f"{type_of(taken[0])!r} is the type of another message. Give {taken[0]} another tag.")
        self._types |= {type_of(kind): kind for kind in types}
        union: Any = Union[tuple(self._types.values())]  # noqa: UP007  the types are known at run time
        self.decoder: msgspec.msgpack.Decoder[Message] = msgspec.msgpack.Decoder(union)


_encoder = msgspec.msgpack.Encoder()

_speech = _Speech()


def learn(*types: type[Message]) -> None:
    """Add the message types of an exchange that is registered. A module imported again replaces its old ones."""
    _speech.learn(*types)


# Texts that come from other agents: short, and without characters that control a terminal or mislead a reader.


LONGEST = 1_000
"""How many characters a text in a message may have, unless it is a name."""

LONGEST_NAME = 80
"""How many characters the name of an agent or a run may have."""

_NAMES = {"initiator": LONGEST_NAME, "agent": LONGEST_NAME, "run": LONGEST_NAME}

_JOINERS = "\u200c\u200d"
"""These are invisible, but Persian and Hindi cannot be written without them."""


def check_words(message: Message) -> None:
    """Raise if a text is too long, or holds line ends, terminal escapes or marks that reverse text."""
    for field in message.__struct_fields__:
        text = getattr(message, field)
        if not isinstance(text, str):
            continue
        longest = _NAMES.get(field, LONGEST)
        if len(text) > longest:
            noun = "is not the name of a run" if field == "run" else "is too long"
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} {noun}: it has {len(text):,} characters; at most {longest:,} "
                "are accepted."
            )
        if text.isprintable() or field == "run":  # the name of a run has a check of its own
            continue
        strange = next((letter for letter in text if not _seen(letter)), None)
        if strange is not None:
            raise ProtocolError(
                f"The {field} of {type_of(message)!r} contains {strange!a}, which is not readable text. Remove it."
            )


def shown(text: str, longest: int = LONGEST) -> str:
    r"""Return another agent's text so that it can be logged and shown: on one line, and cut if it is long.

    >>> shown("Grüße\x1b[31m\n\u202e"), shown("abcdef", longest=3)
    ('Grüße\\x1b[31m\\n\\u202e', 'abc...')
    """
    whole = text[:longest]
    if not whole.isprintable():
        whole = "".join(letter if _seen(letter) else ascii(letter)[1:-1] for letter in whole)
    return whole + "..." if len(text) > longest else whole


def mixed_scripts(text: str) -> str:
    r"""Return a text that mixes scripts, with the letters that are not Latin spelled out; otherwise an empty text.

    Letters of other scripts can look like Latin ones.

    >>> mixed_scripts("b\u0430nk"), mixed_scripts("bank"), mixed_scripts("\u0431\u0430\u043d\u043a")
    ('b\\u0430nk', '', '')
    """
    scripts = {_script(letter) for letter in text if letter.isalpha()}
    if len(scripts) < 2:
        return ""
    return "".join(letter if _script(letter) == "LATIN" else ascii(letter)[1:-1] for letter in text)


def _script(letter: str) -> str:
    """Return the script of a letter: the first word of its Unicode name. Whatever is no letter counts as Latin."""
    return unicodedata.name(letter, "LATIN").partition(" ")[0] if letter.isalpha() else "LATIN"


def _seen(letter: str) -> bool:
    return letter.isprintable() or letter in _JOINERS


# What replies release about samples, by kind, in bits per sample.
#
# ================= =============== ========================================================
# kind              about           what it is
# ================= =============== ========================================================
# rewards           training        whether a model was right
# scores            training        how sure it was: of the truth, or of every class
# hold-out answers  hold-out        what it answered: a class, or scores
# votes             predicted       scores of all models together, for prediction
# ================= =============== ========================================================

About: TypeAlias = Literal["training", "hold-out", "predicted"]


@dataclass(frozen=True)
class ReleasedBits:
    """One release, or several of a kind added up: ``said`` and ``sent`` are bits per sample, all ``times`` together.

    ``said`` counts bits that say something about one sample, before any coding, ``sent`` those on the wire. The second
    is nearer to what can be learned from them, because they are entropy-coded. Bits of votes are those of one time that
    a sample is asked for.
    """

    kind: str
    about: About
    times: int
    said: float
    sent: float


def releases_in(reply: TurnTaken, n_classes: int) -> Iterator[ReleasedBits]:
    """Yield what the answer to a turn releases.

    That is nothing if its model does not count: what such a model says is not sent. It is nothing, too, if the turn is
    taken again and no sample is new.
    """
    if not reply.model_weight > NEGLIGIBLE:
        return
    kind = "scores" if isinstance(reply.reward, Levels) else "rewards"
    if reply.reward.n:
        yield _release(kind, "training", reply.reward, 1 if n_classes == 2 else n_classes)
    if reply.holdout is not None and reply.holdout.n:
        yield _release("hold-out answers", "hold-out", reply.holdout, n_classes)


def votes(bits: int, n_classes: int, times: int, n_bytes: int, n_votes: int) -> ReleasedBits:
    """Return what votes of ``bits`` bits have released about one sample: ``n_votes`` votes in ``n_bytes`` bytes.

    >>> votes(16, 2, times=1, n_bytes=300, n_votes=100)
    ReleasedBits(kind='votes', about='predicted', times=1, said=16, sent=24.0)
    """
    said = bits * (1 if n_classes == 2 else n_classes)  # of two votes one is minus the other
    return ReleasedBits("votes", "predicted", times, said, 8 * n_bytes / max(n_votes, 1))


def added_up(releases: Iterable[ReleasedBits]) -> list[ReleasedBits]:
    sums: dict[str, ReleasedBits] = {}
    for new in releases:
        old = sums.get(new.kind, ReleasedBits(new.kind, new.about, 0, 0.0, 0.0))
        sums[new.kind] = ReleasedBits(
            new.kind, new.about, old.times + new.times, old.said + new.said, old.sent + new.sent
        )
    return list(sums.values())


def _release(kind: str, about: About, said: Bits | ClassCodes | Levels, scores: int) -> ReleasedBits:
    """Return the release of one array; if it holds scores, each sample has ``scores`` of them."""
    match said:
        case Levels():
            n, bits = said.n / scores, float(said.bits * scores)
        case ClassCodes():
            n, bits = said.n, float((said.n_classes - 2).bit_length())  # one code more than classes: an abstention
        case Bits():
            n, bits = said.n, 1.0
    return ReleasedBits(kind, about, 1, bits, 8 * len(said.data) / max(n, 1))


# The transport: it carries the bytes of a request to an agent, and those of the reply back, in time.


class Transport(Protocol):
    """Carries a request to an agent and its reply back."""

    def ask(self, agent: str, request: bytes) -> bytes:
        """Return the agent's reply; raise ``UnreachableError`` where there is none."""


class MemoryTransport:
    """Agents in this process, reached through the same bytes as any others.

    >>> MemoryTransport({"lab": lambda request: request.upper()}).ask("lab", b"hello")
    b'HELLO'
    """

    def __init__(self, services: Mapping[str, Callable[[bytes], bytes]]) -> None:
        self._services = services

    def ask(self, agent: str, request: bytes) -> bytes:
        if agent not in self._services:
            raise UnreachableError(f"There is no agent {agent!r} here. The agents are {sorted(self._services)}.")
        return self._services[agent](request)


Result = TypeVar("Result")


def within(seconds: float, work: Callable[..., Result], *arguments: Any) -> Result:
    """Return the result of some work; raise ``TimeoutError`` if it takes longer than ``seconds``.

    FLARE, and servers of tables, may wait without limit. The work then goes on in a thread, which does not keep the
    program from ending.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def do() -> None:
        try:
            results.append(work(*arguments))
        except BaseException as error:  # raised by the caller, below
            errors.append(error)

    thread = threading.Thread(target=do, name=f"within {seconds:g} s", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]
