"""The label ledger: what helpers were told about each person's label, and how much that gave away.

It is kept in the initiator's folder, for good, and belongs to no run. Every run that tells labels has an entry, also
one that tells the true ones: about these no epsilon says anything any more.

What is told is true to its epsilon whatever happens to the labels later, because nothing about one person is decided by
that person's label alone. There are two rules, and the owner chooses:

- *What was told stays told* (the default). A label is drawn once, and told the same again for good. If it changes
  later, helpers do not hear of it. Where another epsilon is wanted, the label is drawn given what was told before
  (:mod:`assistlearn.core.labels`), so that all runs together give away no more than the largest epsilon.
- *Everybody afresh.* The labels of everybody in the run are drawn anew, changed or not, and each of these draws adds
  its epsilon to what was spent about everybody in the run.

Ids and true labels are not in it, only their digests under the initiator's own key. The entries form a chain of digests
under that key, each over its rows and the entry before. Each run and the ledger of messages keep the digest of their
entry, so that a ledger that was lost, emptied or restored from an older copy is noticed.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from assistlearn.agent.store import RunStore, run_folder, runs_at
from assistlearn.alignment import Ids
from assistlearn.alignment.ids import Rows, digests
from assistlearn.core.labels import likely, picked
from assistlearn.core.people import at
from assistlearn.errors import DiskError, RefusedError, RunError
from assistlearn.events import LabelsTold
from assistlearn.initiator.continuing import roles_of
from assistlearn.initiator.folder import LABELS, RunFolder, RunSettings
from assistlearn.initiator.run import KEY_FILE, LABEL_LEDGER, OpenRun, own_key
from assistlearn.protocol import messages as m
from assistlearn.protocol.codec import decode
from assistlearn.protocol.ledger import entries_of_type
from assistlearn.session.setup import split_of
from assistlearn.storage import private_folder
from assistlearn.types import Bools, Codes, Floats

_TABLES = """
CREATE TABLE IF NOT EXISTS about (key BLOB);
CREATE TABLE IF NOT EXISTS entries (number INTEGER PRIMARY KEY, run TEXT, label TEXT, epsilon REAL, hash TEXT);
CREATE TABLE IF NOT EXISTS told (
    entry INTEGER, id BLOB, draw INTEGER, classes BLOB, secret BLOB, epsilon REAL, code INTEGER, PRIMARY KEY (entry, id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS known (entry INTEGER, id BLOB, PRIMARY KEY (entry, id)) WITHOUT ROWID;
"""
"""``told`` has what was drawn, ``known`` those whose true labels were told. ``draw`` counts how often a person's label
was drawn afresh; ``secret`` is a digest of the true label that was drawn from, and ``classes`` one of the classes. The
epsilon of an entry is null where true labels were told."""

_COLUMNS = {
    "id": pl.Binary,
    "draw": pl.Int64,
    "classes": pl.Binary,
    "secret": pl.Binary,
    "epsilon": pl.Float64,
    "code": pl.Int64,
}

_TOLD_ROWS = "SELECT id, draw, classes, secret, epsilon, code FROM told WHERE entry = ? ORDER BY id"
_KNOWN_ROWS = "SELECT id FROM known WHERE entry = ? ORDER BY id"

BOOKED = "LabelsBooked"
"""The type of an entry in the ledger of messages: the digest of an entry in the label ledger."""

ROUNDING = 1e-9
"""Sums of epsilons may exceed a limit by this much: 0.1 three times is not above 0.3."""


Booked: TypeAlias = tuple[int, str]
"""The number of an entry, and its digest."""


class Witness(NamedTuple):
    """Something outside of the ledger that knows of an entry: by itself, by a digest of its digest, or by the run."""

    where: str  # what it is, in words
    run: str
    booked: Booked | None = None
    digest: str = ""


@dataclass(frozen=True)
class LabelRelease:
    """What helpers are told about the labels of some people."""

    codes: Codes  # the labels they are told, as positions among the classes
    n_drawn: int  # how many of them were drawn now; the others were told before
    n_changed: int  # how many of these others have another label by now, of which helpers do not hear
    n_true: int  # about how many helpers were told the true label, now or before: no epsilon limits that
    # The largest epsilon that all runs so far together, this one included, have given away about a label that was never
    # told as it is.
    most_spent: float
    booked: Booked


def by_chance(chances: Floats) -> Codes:
    """Draw a class in each row of chances, by the chance of the operating system; it follows from no seed."""
    whole = np.frombuffer(os.urandom(8 * len(chances)), dtype="<u8") >> np.uint64(11)
    return picked(chances, whole.astype(np.float64) * 2.0**-53)


class LabelLedger:
    """What helpers were told about a label column, by its own name or the one that the owner's file gives it here.

    ``named`` says whether the file names it. If not, and people were told about under another name, the column may have
    been renamed, and nothing is drawn. ``draw`` draws a class in each row of chances (n x K).
    """

    def __init__(
        self,
        home: Path,
        label: str,
        classes: Sequence[Any],
        named: bool = True,
        draw: Callable[[Floats], Codes] = by_chance,
    ) -> None:
        self.path = home / LABEL_LEDGER
        self._label = label
        self._classes = list(classes)
        self._home = home
        self._named = named
        self._draw = draw

    @property
    def exists(self) -> bool:
        """Whether any label was ever told."""
        return self.path.exists()

    def tell(
        self, run: str, ids: Ids, labels: Codes, epsilon: float, most: float | None = None, afresh: bool = False
    ) -> LabelRelease:
        """Return the labels that helpers are told; when this returns, they are in the ledger.

        ``labels`` are the true ones, as positions among the classes. If more than ``most`` would be given away about
        one person's label in all, or what was told before cannot be told again, nothing is told.
        """
        key, n = own_key(self._home), len(ids)
        people, classes = self._people(ids, key), self._digest_of_classes(key)
        with self._written(key) as connection:
            self._check_name(connection, people)
            told = self._told(connection).join(people, on="id")
            last = np.zeros(n, dtype=np.int64)
            of_each = told.group_by("place").agg(pl.col("draw").max())
            last[of_each["place"].to_numpy()] = of_each["draw"].to_numpy()
            now = told.filter(pl.lit(not afresh) & (pl.col("draw") == pl.Series(last)[told["place"]]))
            self._check_classes(now, classes)
            known = self._known(connection).join(people, on="id")["place"].to_numpy()
            spent = _sums(told.join(now.select("place", "draw").unique(), on=["place", "draw"], how="anti"), n)
            spent += np.maximum(_sums(now, n), epsilon)
            self._check_sum(spent, len(known), epsilon, most)
            secrets = self._secrets(ids, labels, key)
            changed = np.zeros(n, dtype=bool)
            mine = now.join(people.with_columns(own=pl.Series(secrets)).select("place", "own"), on="place")
            changed[mine.filter(pl.col("secret") != pl.col("own"))["place"].to_numpy()] = True
            first = self._first_labels(now, ids, np.where(changed, -1, labels), key)
            codes, fresh = _drawn(now, first, epsilon, len(self._classes), self._draw)
            rows = people.with_columns(
                draw=pl.Series(last + 1 if afresh else np.maximum(last, 1)),
                classes=pl.lit(classes),
                secret=pl.Series(self._secrets(ids, first, key) if changed.any() else secrets),
                epsilon=pl.lit(float(epsilon)),
                code=pl.Series(codes),
            ).filter(pl.Series(fresh))
            booked = _append(connection, key, (run, self._label, float(epsilon)), rows.select(list(_COLUMNS)).rows())
        unknown = np.delete(spent, known)
        n_fresh, n_changed = int(np.count_nonzero(fresh)), int(np.count_nonzero(changed))
        return LabelRelease(codes, n_fresh, n_changed, len(known), float(unknown.max(initial=0.0)), booked)

    def tell_truly(self, run: str, ids: Ids) -> Booked:
        """Book that a run tells helpers the true labels of these people."""
        key = own_key(self._home)
        with self._written(key) as connection:
            rows = self._people(ids, key).select("id").join(self._known(connection), on="id", how="anti").rows()
            return _append(connection, key, (run, self._label, None), rows)

    def check(self, witnesses: Iterable[Witness]) -> None:
        """Raise an error if the ledger lacks an entry that something else knows of, or if the key is not its own."""
        entries = self._entries()
        for where, run, booked, digest in witnesses:
            if booked is not None:
                there = booked in entries
            elif digest:
                there = any(hashlib.sha256(each.encode()).hexdigest() == digest for _, each in entries)
            else:
                there = run in entries.values()
            if there:
                continue
            state = f"has {len(entries):,} entries, and not that of this run" if self.exists else "is missing"
            raise RunError(
                f"{self.path}, the ledger of what helpers were told about labels, {state}: {where} shows that run "
                f"{run!r} told labels. An older or another ledger would tell labels anew, and more would be known than "
                f"it says. Restore the last {self.path.name} and the {KEY_FILE} beside it from a backup, or name the "
                "folder of models that has them (models = ... in the agent file)."
            )

    def has(self, booked: Booked) -> bool:
        return booked in self._entries()

    def _entries(self) -> dict[Booked, str]:
        """Return the run of each entry."""
        if not self.exists:
            return {}
        with self._written(own_key(self._home)) as connection:
            found = connection.execute("SELECT number, hash, run FROM entries").fetchall()
        return {(number, digest): run for number, digest, run in found}

    def spent(self) -> Floats:
        """Return, for each person in the ledger, the epsilon given away in all; infinity if the true label was told."""
        if not self.exists:
            return np.zeros(0)
        with self._written(own_key(self._home)) as connection:
            told, known = self._told(connection), self._known(connection)
        each = told.group_by("id", "draw").agg(pl.col("epsilon").max()).group_by("id").agg(pl.col("epsilon").sum())
        of_known = known.select("id", epsilon=pl.lit(math.inf))
        return pl.concat([each, of_known]).group_by("id").agg(pl.col("epsilon").max())["epsilon"].to_numpy()

    def _check_name(self, connection: sqlite3.Connection, people: pl.DataFrame) -> None:
        """Refuse a column that may be one that helpers were told about under another name."""
        if self._named:
            return
        question = "SELECT DISTINCT {0}.id, label FROM {0} JOIN entries ON entry = number WHERE label != ?"
        rows = [row for t in ("told", "known") for row in connection.execute(question.format(t), (self._label,))]
        others = pl.DataFrame(rows, schema={"id": pl.Binary, "label": pl.String}, orient="row").join(people, on="id")
        if len(others):
            names = ", ".join(map(repr, sorted(set(others["label"]))))
            raise RefusedError(
                f"Helpers were told about the labels of {others['id'].n_unique():,} of these {len(people):,} people "
                f"before, in another column: {names}. If {self._label!r} is that column with a new name, write into "
                f"[privacy] of your agent file: label_name = {json.dumps(sorted(set(others['label']))[0])}. If it asks "
                f"something else about them, write: label_name = {json.dumps(self._label)}. Nothing was told."
            )

    def _check_classes(self, now: pl.DataFrame, classes: bytes) -> None:
        other = now.filter(pl.col("classes") != classes)["place"].n_unique()
        if other:
            raise RefusedError(
                f"Column {self._label!r}: helpers were told about the labels of {other:,} of these people when the "
                f"classes were others; now they are {', '.join(map(str, self._classes))}. What was told stays told, "
                "which needs the same classes. Restore them, leave these people out, or let everybody be drawn afresh "
                '(told_labels = "afresh" and max_label_epsilon in [privacy] of your agent file): that adds up. Nothing '
                "was told."
            )

    def _check_sum(self, spent: Floats, n_known: int, epsilon: float, most: float | None) -> None:
        if most is None:
            return
        allowed = f"at most {most:g} is allowed (privacy.max_label_epsilon)"
        if n_known:
            raise RefusedError(
                f"Column {self._label!r}: helpers were told the true labels of {n_known:,} of {len(spent):,} people in "
                f"earlier runs, which no epsilon limits; {allowed}. Leave these people out. Nothing was told."
            )
        over = spent > most + ROUNDING
        if over.any():
            raise RefusedError(
                f"Column {self._label!r}: what helpers were told about the labels of {int(over.sum()):,} of "
                f"{len(over):,} people would add up to epsilon {float(spent.max()):g}; {allowed}, and the run asks for "
                f"{epsilon:g}. Ask for a smaller epsilon, leave these people out, or set max_label_epsilon in the "
                "agent file to a larger number. Nothing was told."
            )

    def _people(self, ids: Ids, key: bytes) -> pl.DataFrame:
        return pl.DataFrame(
            {"id": [bytes(each) for each in digests(ids, key)], "place": np.arange(len(ids))},
            schema={"id": pl.Binary, "place": pl.Int64},
        )

    def _digest_of_classes(self, key: bytes) -> bytes:
        named = json.dumps([str(each) for each in self._classes]).encode()
        return hashlib.blake2b(named, key=key, digest_size=16, person=b"classes").digest()

    def _secrets(self, ids: Ids, labels: Codes, key: bytes) -> list[bytes]:
        """Return, for each person, a digest of the label and the id."""
        keyed = hashlib.blake2b(key=key, digest_size=16, person=b"true label")
        out = []
        for text, code in zip(ids.texts.to_list(), labels.tolist(), strict=True):
            each = keyed.copy()
            each.update(code.to_bytes(4, "little") + text.encode())
            out.append(each.digest())
        return out

    def _first_labels(self, now: pl.DataFrame, ids: Ids, labels: Codes, key: bytes) -> Codes:
        """Return the label that each person's answers are drawn from; -1 in ``labels``: it was another than now."""
        first, places = labels.copy(), np.flatnonzero(labels < 0)
        if not len(places):
            return first
        told = dict(now.select("place", "secret").iter_rows())
        asked = Ids(ids.take(places))
        for code in range(len(self._classes)):
            each = self._secrets(asked, np.full(len(places), code), key)
            first[[place for place, secret in zip(places.tolist(), each, strict=True) if told[place] == secret]] = code
        if (first < 0).any():
            raise RunError(f"{self.path} was changed: a label in it is none of the classes. {_RESTORE}")
        return first

    def _told(self, connection: sqlite3.Connection) -> pl.DataFrame:
        rows = connection.execute(
            "SELECT id, draw, classes, secret, told.epsilon, code FROM told JOIN entries ON entry = number "
            "WHERE label = ?",
            (self._label,),
        )
        return pl.DataFrame(rows.fetchall(), schema=_COLUMNS, orient="row")

    def _known(self, connection: sqlite3.Connection) -> pl.DataFrame:
        question = "SELECT DISTINCT id FROM known JOIN entries ON entry = number WHERE label = ?"
        return pl.DataFrame(
            connection.execute(question, (self._label,)).fetchall(), schema={"id": pl.Binary}, orient="row"
        )

    @contextmanager
    def _written(self, key: bytes) -> Iterator[sqlite3.Connection]:
        """Yield a verified ledger while nobody else can write. All changes are kept, or none of them."""
        if self.path.is_symlink():  # SQLite would follow it, and keep the ledger wherever it leads
            raise RunError(
                f"{self.path}, the ledger of what helpers were told about labels, is a link, and links are not "
                f"followed: whoever can write into its folder could lead it elsewhere. Remove the link. {_RESTORE}"
            )
        try:
            if not self.path.exists():
                private_folder(self.path.parent)
                with suppress(FileExistsError):  # another process has made it
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            with closing(sqlite3.connect(self.path, timeout=60.0, isolation_level=None)) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                connection.execute("BEGIN IMMEDIATE")
                for table in _TABLES.split(";")[:-1]:
                    connection.execute(table)
                _verify(connection, key, self.path)
                yield connection
                connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, OSError) or (error.sqlite_errorcode & 0xFF) in _OF_THE_DISK:
                raise DiskError(
                    f"{self.path} cannot be written: {error}. Make room on its disk, or correct its permissions; then "
                    "go on."
                ) from None
            raise RunError(
                f"{self.path}, the ledger of what helpers were told about labels, cannot be read: {error}. {_RESTORE}"
            ) from None


_OF_THE_DISK = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_RESTORE = "Restore it from a backup: without it the same labels would be told anew, which gives away more."


def _verify(connection: sqlite3.Connection, key: bytes, path: Path) -> None:
    """Raise an error if the ledger was written under another key, or its entries or rows are not what was written."""
    own = hashlib.blake2b(key=key, digest_size=16, person=b"label ledger").digest()
    stated = connection.execute("SELECT key FROM about").fetchall()
    if not stated:
        connection.execute("INSERT INTO about VALUES (?)", (own,))
    elif stated != [(own,)]:
        raise RunError(
            f"{path} was written under another key than {path.with_name(KEY_FILE)}: one of them was replaced. Under "
            "another key nobody is recognised, and labels would be told anew, which gives away more. Restore both from "
            "the same backup."
        )
    last = ""
    for number, *facts, stated_hash in connection.execute(
        "SELECT number, run, label, epsilon, hash FROM entries ORDER BY number"
    ).fetchall():
        rows = [*connection.execute(_TOLD_ROWS, (number,)), *connection.execute(_KNOWN_ROWS, (number,))]
        last = _hash(key, last, (number, *facts), rows)
        if last != stated_hash:
            raise RunError(
                f"{path}: entry {number} or its rows were changed or removed after it was written. {_RESTORE}"
            )
    strays = connection.execute(
        "SELECT count(*) FROM (SELECT entry FROM told UNION ALL SELECT entry FROM known) "
        "WHERE entry NOT IN (SELECT number FROM entries)"
    ).fetchone()[0]
    if strays:
        raise RunError(f"{path}: {strays:,} rows belong to entries that were removed. {_RESTORE}")


def _append(
    connection: sqlite3.Connection, key: bytes, facts: tuple[Any, ...], rows: Sequence[tuple[Any, ...]]
) -> Booked:
    """Add an entry with its rows; those of true labels have an id alone."""
    number, last = connection.execute("SELECT coalesce(max(number), 0) + 1, '' FROM entries").fetchone()
    if number > 1:
        last = connection.execute("SELECT hash FROM entries WHERE number = ?", (number - 1,)).fetchone()[0]
    ordered = sorted(rows)
    digest = _hash(key, last, (number, *facts), ordered)
    connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?)", (number, *facts, digest))
    table = "known VALUES (?, ?)" if facts[-1] is None else "told VALUES (?, ?, ?, ?, ?, ?, ?)"
    connection.executemany(f"INSERT INTO {table}", ((number, *row) for row in ordered))
    return number, digest


def _hash(key: bytes, last: str, facts: tuple[Any, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    state = hashlib.blake2b(json.dumps([last, *facts]).encode(), key=key, digest_size=16, person=b"label entry")
    for row in rows:
        state.update(repr(row).encode())
    return state.hexdigest()


def _sums(told: pl.DataFrame, n: int) -> Floats:
    """Return what was given away about each of ``n`` people: of one draw the largest epsilon, of several the sum."""
    each = told.group_by("place", "draw").agg(pl.col("epsilon").max()).group_by("place").agg(pl.col("epsilon").sum())
    out = np.zeros(n)
    out[each["place"].to_numpy()] = each["epsilon"].to_numpy()
    return out


def _drawn(
    told: pl.DataFrame, labels: Codes, epsilon: float, n_classes: int, draw: Callable[[Floats], Codes]
) -> tuple[Codes, Bools]:
    """Return the labels that are told at this epsilon, and which of them were not told before.

    A label that was told at the same epsilon is told again. Labels that were told at other epsilons change the chances
    of what is drawn.
    """
    n = len(labels)
    below, above = _neighbour(told, n, epsilon, nearest_above=False), _neighbour(told, n, epsilon, nearest_above=True)
    codes: Codes = np.where(below[0] == epsilon, below[1], -1)
    fresh: Bools = codes < 0
    chances = np.zeros((n, n_classes))
    for low, high in {*zip(below[0][fresh].tolist(), above[0][fresh].tolist(), strict=True)}:
        at = np.flatnonzero(fresh & (below[0] == low) & (above[0] == high))
        upper = labels[at] if math.isinf(high) else above[1][at]
        lower = None if low == 0.0 else below[1][at]
        chances[at] = likely(upper, lower, (high, epsilon, low), n_classes)
    codes[fresh] = draw(chances[fresh])
    return codes, fresh


def _neighbour(told: pl.DataFrame, n: int, epsilon: float, *, nearest_above: bool) -> tuple[Floats, Codes]:
    """Return for each of ``n`` people the nearest epsilon above this one, or up to it, and the label told there."""
    side = pl.col("epsilon") > epsilon if nearest_above else pl.col("epsilon") <= epsilon
    nearest = told.filter(side).sort("epsilon", descending=nearest_above).group_by("place", maintain_order=True).last()
    epsilons, codes = np.full(n, math.inf if nearest_above else 0.0), np.full(n, -1)
    epsilons[nearest["place"].to_numpy()] = nearest["epsilon"].to_numpy()
    codes[nearest["place"].to_numpy()] = nearest["code"].to_numpy()
    return epsilons, codes


# -- the labels that the helpers of a run are told
#
# The label ledger, the key and the runs are tied together. Every run that tells labels keeps the digest of its entry,
# in its own folder and in the ledger of messages. Before labels are drawn, all of these must be in the label ledger.


def told_labels(run: OpenRun, rows: Rows) -> Codes | None:
    """Return the class codes that helpers are told; None where they are told the true ones.

    They are drawn once, and kept in the run's folder: a run that goes on after an interruption tells the same. Labels
    of hold-out samples are not told at all: their codes are -1.
    """
    plan, table, folder = run.settings.plan, run.table, run.folder
    ledger = LabelLedger(run.holdings.home, table.label, run.settings.classes, table.label_named)
    training, _ = split_of(plan, table.labels[rows], folder.holdout_words(), roles_of(run), at(table.groups, rows))
    told_rows = rows if training is None else rows[training]
    if not plan.make_method().keeps_labels:
        _tell_truly(run, ledger, told_rows)
        return None
    check_ledger(ledger, folder, run.settings, run.holdings.home)
    told = folder.told()
    if told is None:
        labels, afresh = table.labels[told_rows], table.told_labels == "afresh"
        ids, most = run.ids_at(told_rows), table.max_label_epsilon
        drawn = ledger.tell(run.name, ids, labels, plan.epsilon, most, afresh)
        told = np.full(len(rows), -1)
        told[slice(None) if training is None else training] = np.asarray(folder.permutation())[drawn.codes]
        _note(run, drawn.booked)
        folder.write_told(told)
        counts = len(told_rows), drawn.n_drawn, drawn.n_changed, drawn.n_true
        run.log.append(LabelsTold(table.label, plan.epsilon, *counts, drawn.most_spent))
    return told


def check_ledger(ledger: LabelLedger, folder: RunFolder, settings: RunSettings, home: Path) -> None:
    ledger.check(_witnesses(folder, settings, home))


def _tell_truly(run: OpenRun, ledger: LabelLedger, rows: Rows) -> None:
    if run.table.max_label_epsilon is not None:
        raise RefusedError(
            f"Helpers may be told labels at epsilon {run.table.max_label_epsilon:g} at most (privacy.max_label_epsilon "
            f"in the agent file), but method {run.settings.plan.method!r} tells the true labels. Nothing was told."
        )
    noted = run.folder.labels()
    if noted is None or not ledger.has((noted["number"], noted["hash"])):
        _note(run, ledger.tell_truly(run.name, run.ids_at(rows)))


def _note(run: OpenRun, booked: Booked) -> None:
    """Keep the digest of an entry where the label ledger is not: in both it must be found again."""
    settings = run.settings
    run.ledger.record("noted", settings.initiator, settings.run, BOOKED, booked[1].encode())
    noted = {"number": booked[0], "hash": booked[1], "run": settings.run}
    run.folder.write_labels(noted | _owner(settings))


def _owner(settings: RunSettings) -> dict[str, Any]:
    """Return by what one recognises another run of the same initiator, if its folder of models is another."""
    file = settings.files.get(settings.initiator, "")
    return {"initiator": settings.initiator, "file": str(file), "fingerprint": settings.fingerprint}


def _witnesses(folder: RunFolder, settings: RunSettings, home: Path) -> Iterator[Witness]:
    """Yield what shows that labels were told: the folders of this run and of those beside it, and folders of models.

    The initiator may have had another folder of models: it is looked for beside this one, and beside the agent's file.
    """
    own = _owner(settings)
    for path in sorted({*folder.path.resolve().parent.glob(f"*/{LABELS}"), folder.path.resolve() / LABELS}):
        noted = RunFolder(path.parent).labels()
        if (
            noted is not None
            and noted["initiator"] == own["initiator"]
            and any(noted[fact] == own[fact] != "" for fact in ("file", "fingerprint"))
        ):
            yield Witness(str(path), noted["run"], (noted["number"], noted["hash"]))
    homes = {home.resolve(), *home.resolve().parent.glob("*/")}
    homes |= set(Path(own["file"]).resolve().parent.glob("*/")) if own["file"] else set()
    for path in sorted(each / "ledger.jsonl" for each in homes):
        for entry in entries_of_type(path, BOOKED):
            if entry.peer == settings.initiator:
                yield Witness(f"entry {entry.number} of {path}", entry.run, digest=entry.digest)
    for name in runs_at(home):
        store = RunStore(run_folder(home, name))
        task = store.task()
        begin = None if task is None else decode(task)
        # An initiator's own agent is told all labels, also those that it keeps from helpers.
        if isinstance(begin, m.Begin) and begin.epsilon == math.inf and begin.run != settings.run:
            yield Witness(str(store.folder), begin.run)
