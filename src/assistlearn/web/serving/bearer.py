"""Answer only clients that have the token. It is made once, and kept in a file that only its owner can read."""

from __future__ import annotations

import hmac
import os
import stat
from pathlib import Path

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from assistlearn.errors import SettingsError
from assistlearn.web.gate import new_token

OPEN_PATHS = ("/v2/health/live", "/v2/health/ready")
"""What anybody may ask: whether the service lives, and is ready."""

SHORTEST = 16
"""Characters that a token must have at least."""


def kept_token(file: Path) -> str:
    """Return the token in a file. If there is no file, make one that only its owner can read.

    Raises
    ------
    SettingsError
        Others may read the file, or what it holds is no token.
    """
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _checked(file)
    with os.fdopen(opened, "w", encoding="ascii") as made:
        token = new_token()
        made.write(token + "\n")
    return token


def _checked(file: Path) -> str:
    if stat.S_IMODE(file.stat().st_mode) & 0o077:
        raise SettingsError(f"{file} holds the token, and others may read it. Make it yours alone: chmod 600 {file}")
    token = file.read_bytes().decode("ascii", errors="replace").strip()
    if len(token) < SHORTEST or not all(33 <= ord(letter) <= 126 for letter in token):
        raise SettingsError(
            f"{file} holds no valid token: it needs at least {SHORTEST} letters, digits and signs, without blanks. "
            "Remove the file, and a new token is made."
        )
    return token


class BearerGate:
    """Refuses requests without the token, with 401.

    Parameters
    ----------
    app : ASGI application
        What stands behind the gate.
    token : str
        The token.
    """

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http" or scope["path"] in OPEN_PATHS or self._has_token(scope):
            await self._app(scope, receive, send)
            return
        words = "The token is missing or wrong. Send it in the header 'Authorization: Bearer TOKEN'."
        await JSONResponse({"error": words}, 401, {"www-authenticate": "Bearer"})(scope, receive, send)

    def _has_token(self, scope: Scope) -> bool:
        said = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(said) != 1:
            return False
        kind, _, token = said[0].partition(b" ")
        return bool(kind.lower() == b"bearer") and hmac.compare_digest(token.strip(), self._expected)
