"""Commands that predict: ``predict`` writes a file, and ``serve`` answers over HTTP."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from assistlearn.cli.output import Force, Json, RunPath, check_target, flag, needed_by_run, plain, say, say_json
from assistlearn.errors import SettingsError, TableError, UnreachableError
from assistlearn.evaluation.words import counted
from assistlearn.reach import A_YEAR, TIMEOUT

if TYPE_CHECKING:
    import polars as pl

    from assistlearn.agent.file import AgentDescription
    from assistlearn.agent.loading import LoadedAgent
    from assistlearn.alignment.ids import Rows
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.initiator.prediction import Prediction
    from assistlearn.tables.sources import Source
    from assistlearn.web.predictor import Predictor


OWN_COLUMNS = ("prediction", "agents", "absent")
"""Columns of the file besides ids and probabilities."""

FORMULA = r"^[=+@\t\r\n\x{ff1d}\x{ff0b}\x{ff0d}\x{ff20}-]"
"""How a text begins that a spreadsheet could take for a formula; the last four are full-width signs."""

NUMBER = r"^[+-][0-9.,]+([eE][+-]?[0-9]+)?$"
"""A number with a sign is no formula."""

BY_SHARES = "(shares of the labels)"
"""What the column ``agents`` says where the shares of the labels decide. No agent can have this name."""


Without = Annotated[
    list[str] | None, typer.Option(metavar="HELPER", help="Predict without this helper. Can be given several times.")
]


def predict(
    run: RunPath,
    ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A CSV or Parquet file with the ids to predict. Its id columns are named as those of the initiator.",
            show_default="the initiator's rows without a label; all rows if every row has one",
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The CSV file to write.")] = Path(
        "predictions.csv"
    ),
    timeout: Annotated[
        float, typer.Option(min=1, max=A_YEAR, metavar="SECONDS", help="How long to wait for an answer of an agent.")
    ] = TIMEOUT,
    allow_absent: Annotated[bool, flag("--allow-absent", "Exit with 0 even if an agent does not take part.")] = False,
    require_all: Annotated[bool, flag("--require-all", "Write nothing unless every agent takes part.")] = False,
    without: Without = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Predict samples with a finished run, and write the answers to a CSV file.

    Every agent votes on the samples that it knows. Agents that do not take part are named, and the exit code is then 3.
    Samples that no agent knows get no answer.
    """
    needed = needed_by_run(run) | ({} if ids is None else {ids: "the file with the ids"})
    check_target(out, needed, force=force, quiet=json)
    facts = predicted(run, ids, out, timeout, quiet=json, require_all=require_all, without=without or ())
    if json:
        say_json(facts)
    else:
        show_predicted(facts)
    if facts["absent"] and not allow_absent:
        raise typer.Exit(3)


def predicted(
    run: Path,
    ids: Path | None,
    out: Path,
    timeout: float,
    *,
    quiet: bool,
    require_all: bool = False,
    without: Sequence[str] = (),
) -> dict[str, Any]:
    from assistlearn.alignment import Ids
    from assistlearn.alignment.ids import without_case
    from assistlearn.cli.progress import Bar
    from assistlearn.initiator import prediction as predicting
    from assistlearn.initiator.folder import RunFolder
    from assistlearn.initiator.run import rows_of
    from assistlearn.reach.opening import opened_run

    folder = RunFolder(run)
    asked = None if ids is None else ids_in(ids, folder)  # before any process starts
    log = folder.log()
    with Bar(quiet) as bar:
        log.listen(bar.show)
        with opened_run(folder, training=False, log=log, timeout=timeout) as (open_run, own):
            if asked is None:
                asked = _without_label(own)
            alike = without_case(asked) if own.description.id_case == "ignore" else asked
            samples = Ids(alike, f"Agent {own.description.name!r}")
            rows = rows_of(samples, own.table.ids)
            predicting.without(open_run, without)
            prediction = predicting.predict(open_run, samples, rows)
    if not prediction.known and not prediction.label_only:
        raise UnreachableError("No agent can vote. " + _reasons(prediction))
    if require_all and prediction.absent:
        raise UnreachableError(f"Nothing was written, as not every agent takes part. {_reasons(prediction)}")
    return {
        "file": str(out),
        "samples": len(asked),
        "unknown_to_all": int((~prediction.decided).sum()),
        "by_label_shares": int(prediction.by_shares.sum()),
        "known": {name: int(mask.sum()) for name, mask in prediction.known.items()},
        "absent": dict(prediction.absent),
        "warnings": list(prediction.warnings),
        "changed": dict(prediction.changed),
        "without": list(without),
        "trained_on": _trained_on(folder, rows, own),
        "escaped": _write(out, own.description.id, asked, prediction),
    }


def ids_in(file: Path, folder: RunFolder) -> pl.Series:
    """Return the ids in a file; raise an error if an id is missing or occurs twice."""
    from assistlearn.agent.file import load_description
    from assistlearn.alignment import Ids, join_ids

    settings = folder.settings()
    description = load_description(settings.files[settings.initiator])
    names = description.id
    source = _source(file, names, description)
    there = source.names()
    for name in names:
        if name not in there:
            raise TableError(
                f"{file} has no column {name!r}, which holds the ids at {settings.initiator!r}. Its columns are "
                f"{', '.join(map(repr, there))}. Rename the column with the ids to {name!r}, in the first line of the "
                "file."
            )
    frame = source.read(names, names)
    ids = frame[names[0]] if len(names) == 1 else join_ids([frame[name] for name in names], str(file))
    Ids(ids, str(file))
    return ids


def _source(file: Path, names: Sequence[str], description: AgentDescription) -> Source:
    from assistlearn.tables.sources.csv import CsvSource
    from assistlearn.tables.sources.parquet import ParquetFile, ParquetSource

    if file.is_dir():
        raise TableError(f"{file} is a folder. Name a file with ids: CSV or Parquet.")
    if not file.is_file():
        raise TableError(f"{file}: there is no such file.")
    if file.suffix.lower() == ".parquet":
        files = [ParquetFile(str(file), str(file))]
        return ParquetSource(files, str(file), description.reading, description.read_seconds)
    return CsvSource(file, _separator(file, names), str(file), description.reading)


def _separator(file: Path, names: Sequence[str]) -> str:
    """Return the separator with which the header has the id columns; a comma if there is none."""
    with file.open("rb") as opened:
        header = opened.readline(2**16).decode(errors="replace").strip("\ufeff\r\n")
    for sign in ",;\t|":
        if set(names) <= {name.strip('"') for name in header.split(sign)}:
            return sign
    return ","


def _reasons(prediction: Prediction) -> str:
    return " ".join(f"{name}: {why}" for name, why in prediction.absent.items())


def _trained_on(folder: RunFolder, rows: Rows, own: LoadedAgent) -> int | None:
    """Return how many of these rows took part in training; None if that is unknown, or the table has changed since."""
    import numpy as np

    samples = folder.samples()
    if samples is None or own.table.fingerprint != folder.settings().fingerprint:
        return None
    return int(np.isin(rows, samples).sum())


def _without_label(own: LoadedAgent) -> pl.Series:
    """Return the ids of the initiator's rows without a label; the ids of all rows if every row has one."""
    labels = own.table.labels
    unlabelled = own.table.ids if labels is None else own.table.ids.filter(labels.is_null())
    return unlabelled if len(unlabelled) else own.table.ids


def _write(out: Path, id_names: Sequence[str], asked: pl.Series, prediction: Prediction) -> int:
    """Write a row for each sample, and return how many texts got an apostrophe.

    A sample without an answer has no prediction and no probabilities. The last column names the agents that did not
    take part, so that the file itself says that their votes are missing.
    """
    import numpy as np
    import polars as pl

    from assistlearn.alignment import split_ids
    from assistlearn.storage import write_bytes

    agents = list(prediction.known)
    masks = np.array([prediction.known[name] for name in agents], dtype=bool).reshape(len(agents), len(asked)).T
    unknown = pl.Series(~prediction.decided)
    columns: dict[str, Any] = {}
    for name, part in zip(id_names, split_ids(asked, id_names), strict=True):
        columns[f"id ({name})" if name in OWN_COLUMNS else name] = part
    columns["prediction"] = pl.Series(prediction.labels, strict=False)
    for position, name in enumerate(prediction.classes):
        columns[f"probability of {name}"] = pl.Series(prediction.probabilities[:, position]).set(unknown, None)
    voters = (" ".join(name for name, there in zip(agents, row, strict=True) if there) or None for row in masks)
    columns["agents"] = [BY_SHARES if alone else who for who, alone in zip(voters, prediction.by_shares, strict=True)]
    columns["absent"] = pl.Series([" ".join(prediction.absent) or None] * len(asked), dtype=pl.String)
    write_bytes(out, as_csv(columns).encode())
    return sum(int(_formulas(pl.Series(values)).sum()) for values in (list(columns), *columns.values()))


def as_csv(columns: Mapping[str, Any]) -> str:
    """Return columns as CSV in which no text is a formula: an apostrophe stands before it, as spreadsheets write it.

    An id comes from a table and could begin with ``=``; a spreadsheet that opens the file would run it.

    >>> import polars as pl
    >>> print(as_csv({"id": pl.Series(["=cmd|' /C calc'!A0", "-12", "p-1"])}))
    id
    '=cmd|' /C calc'!A0
    -12
    p-1
    """
    import polars as pl

    def harmless(values: pl.Series) -> pl.Series:
        return values.zip_with(~_formulas(values), "'" + values) if values.dtype == pl.String else values

    named = zip(harmless(pl.Series(list(columns))), pl.DataFrame(columns), strict=True)
    return pl.DataFrame({name: harmless(values) for name, values in named}).write_csv()


def _formulas(values: pl.Series) -> pl.Series:
    """Return which values are texts that a spreadsheet could take for a formula."""
    import polars as pl

    if values.dtype != pl.String:
        return pl.repeat(False, len(values), dtype=pl.Boolean, eager=True)
    return (values.str.contains(FORMULA) & ~values.str.contains(NUMBER)).fill_null(False)


def show_predicted(facts: dict[str, Any]) -> None:
    n, unknown = facts["samples"], facts["unknown_to_all"]
    say(f"{counted(n - unknown, 'sample')} predicted, in {plain(facts['file'])}.")
    for name, count in facts["known"].items():
        say(f"  {plain(name)} knows {count:,} of {n:,}")
    if unknown:
        say(f"[yellow]{counted(unknown, 'sample')} unknown to every agent:[/] the prediction is empty there.")
    if facts["by_label_shares"]:
        say(
            f"[yellow]{counted(facts['by_label_shares'], 'sample')} answered by the shares of the training labels:[/] "
            "no agent that takes part says anything about them."
        )
    if facts["trained_on"]:
        say(
            f"[yellow]{counted(facts['trained_on'], 'sample')} took part in training:[/] such predictions look better "
            "than they are. For new samples name a file with their ids (--ids)."
        )
    for name, why in facts["absent"].items():
        say(f"[yellow]{plain(name)} did not take part:[/] {plain(why)}")
    for name, why in facts["changed"].items():
        say(f"[yellow]{plain(why)}[/] For predictions without it: --without {plain(name)}")
    if facts["escaped"]:
        say(
            f"[yellow]{counted(facts['escaped'], 'text')} in the file got an apostrophe in front:[/] a spreadsheet "
            "could take them for formulas. Remove it where you match ids with your own tables."
        )
    if facts["without"]:
        say(f"Without {plain(', '.join(facts['without']))}, as you asked.")
    if facts["absent"] and facts["known"]:
        say("The predictions use only the votes of the other agents.")


# ``assistlearn serve``: predictions over HTTP, for programs.


LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


def serve(
    run: RunPath,
    port: Annotated[
        int, typer.Option(min=0, max=65_535, metavar="PORT", help="The port. 0 takes any free port.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS", help="The address to listen at. The default is reached from this machine only."
        ),
    ] = "127.0.0.1",
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file with the token that clients must send. It is made if it does not exist.",
            show_default="serve.token in the run's folder",
        ),
    ] = None,
    no_token: Annotated[bool, flag("--no-token", "Need no token: who reaches the port gets answers.")] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate in PEM format, to answer over HTTPS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The private key of the certificate, in PEM format.")
    ] = None,
    most_ids: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="IDS", help="The largest number of ids in one request.")
    ] = 1_000,
    without: Without = None,
    json: Json = False,
) -> None:
    """Answer other programs' requests for predictions over HTTP, until Ctrl-C.

    Every request is passed on to the helpers. If a helper cannot be reached or refuses, the answer names it and uses
    the votes of the others.
    """
    from assistlearn.web import require_web

    require_web("assistlearn serve")
    from assistlearn.initiator.folder import TOKEN_FILE
    from assistlearn.web.predictor import opened_predictor
    from assistlearn.web.server import WebServer, kept_token, listening, port_of, protocol_for
    from assistlearn.web.service import PredictionService, ServingLimits

    if no_token and token_file is not None:
        raise SettingsError("--token-file and --no-token contradict each other. Give one of them.")
    tls = _tls(tls_cert, tls_key)
    limits = ServingLimits(most_ids=most_ids, most_bytes=max(1_000_000, 1_100 * most_ids))
    file = None if no_token else token_file or run / TOKEN_FILE
    with (
        _stopped_by_signals(),
        opened_predictor(run, without=without or ()) as predictor,
        listening(port, host) as there,
    ):
        token = None if file is None else kept_token(file)
        app = PredictionService(predictor, limits).application(token, loopback=host in LOOPBACK)
        server = WebServer(app, there, http=protocol_for(limits.slowest), lifespan="off", **tls)
        address = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port_of(there)}"
        facts = {"address": address, "model": predictor.run.name, "token_file": None if file is None else str(file)}

        def tell(started: Future[dict[str, str]]) -> None:
            if not server.should_exit:
                said = facts | {"missing": started.result()}
                say_json(said) if json else _show_service(said, predictor)
                sys.stdout.flush()  # somebody may wait for the address

        predictor.started.add_done_callback(tell)
        server.run_until_stopped()
    if not json:
        say("Stopped.")


def _tls(cert: Path | None, key: Path | None) -> dict[str, Any]:
    """Return the server's settings for TLS; raise an error if certificate and key cannot be used."""
    if cert is None and key is None:
        return {}
    if cert is None or key is None:
        raise SettingsError("--tls-cert and --tls-key go together: give both.")
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except OSError as error:  # also if a file holds no certificate, or the key of another one
        raise SettingsError(f"{cert} and {key} cannot be used for TLS: {error}.") from None
    return {"ssl_certfile": str(cert), "ssl_keyfile": str(key)}


def _show_service(facts: dict[str, Any], predictor: Predictor) -> None:
    ids = predictor.run.holdings.ids.texts
    for name, why in facts["missing"].items():
        say(f"[yellow]{plain(name)} is missing:[/] {plain(why)}")
    say(f"Predictions of run {plain(facts['model'])} at {plain(facts['address'])}. Ctrl-C stops.")
    token = facts["token_file"]
    header = "" if token is None else f' -H "Authorization: Bearer $(cat {shlex.quote(token)})"'
    address = f"{facts['address']}/predict?id={quote(ids[0], safe='')}"  # a table without rows was refused before
    say(plain(f"Try it: curl{header} {shlex.quote(address)}"))


@contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """Make SIGTERM end the command as Ctrl-C does. While the server runs, it handles both signals itself."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
