"""``assistlearn serve``: predictions over HTTP, for programs."""

from __future__ import annotations

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from assistlearn.cli.output import Json, plain, say, say_json
from assistlearn.errors import SettingsError

if TYPE_CHECKING:
    from assistlearn.web.predictor import Predictor

LOOPBACK = ("127.0.0.1", "localhost", "::1")
"""Addresses that only this machine reaches."""


def serve(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of the run.")],
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
    no_token: Annotated[
        bool, typer.Option("--no-token", metavar="", help="Need no token: everybody who reaches the port gets answers.")
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate in PEM format, to answer over HTTPS.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The private key of the certificate, in PEM format.")
    ] = None,
    most_ids: Annotated[
        int, typer.Option(min=1, max=100_000, metavar="IDS", help="The largest number of ids in one request.")
    ] = 1_000,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="HELPER", help="Answer without this helper. Can be given several times."),
    ] = None,
    json: Json = False,
) -> None:
    """Answer other programs' requests for predictions over HTTP, until Ctrl-C.

    Every request is passed on to the helpers. If a helper cannot be reached or refuses, the answer names it and uses
    the votes of the others.
    """
    from assistlearn.web import require_web

    require_web("assistlearn serve")
    if no_token and token_file is not None:
        raise SettingsError("--token-file and --no-token contradict each other. Give one of them.")
    tls = _tls(tls_cert, tls_key)
    token = partial(_token, run, token_file, no_token)
    with _stopped_by_signals():
        _answer(run, host, port, tls, token, most_ids, without or (), json)
    if not json:
        say("Stopped.")


def _answer(
    run: Path,
    host: str,
    port: int,
    tls: dict[str, Any],
    token_of: Callable[[], tuple[str | None, str | None]],
    most_ids: int,
    without: Sequence[str],
    json: bool,
) -> None:
    from assistlearn.web.inference import ServingLimits
    from assistlearn.web.predictor import opened_predictor
    from assistlearn.web.server import WebServer, listening, port_of, protocol_for
    from assistlearn.web.service import PredictionService

    limits = ServingLimits(most_ids=most_ids, most_bytes=max(1_000_000, 1_100 * most_ids))
    with opened_predictor(run, without=without) as predictor, listening(port, host) as there:
        token, file = token_of()
        address = f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port_of(there)}"
        facts = {"address": address, "model": predictor.run.name, "token_file": file}
        app = PredictionService(predictor, limits).application(token, loopback=host in LOOPBACK)
        server = WebServer(app, there, http=protocol_for(limits.slowest), lifespan="off", **tls)

        def tell(started: Future[dict[str, str]]) -> None:
            if not server.should_exit:
                said = facts | {"missing": started.result()}
                say_json(said) if json else _show(said, predictor)
                sys.stdout.flush()  # somebody may wait for the address

        predictor.started.add_done_callback(tell)
        server.run_until_stopped()


def _token(run: Path, file: Path | None, none: bool) -> tuple[str | None, str | None]:
    from assistlearn.initiator.folder import TOKEN_FILE
    from assistlearn.web.access import kept_token

    if none:
        return None, None
    place = file or run / TOKEN_FILE
    return kept_token(place), str(place)


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


def _show(facts: dict[str, Any], predictor: Predictor) -> None:
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

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
