"""Which types a content may hold: the few that FLARE's own job control sends.

FLARE packs contents with FOBS, in which the sender names the types that the receiver builds. FLARE's list of them is
long, and grows with every part that is imported; a content may also bring a file, or make its receiver fetch one. Here
the list is short, and a content can neither bring a file nor have one fetched.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from nvflare.fuel.utils.fobs import fobs, lobs

from assistlearn.errors import NetworkError

TYPES = frozenset(
    {
        "nvflare.apis.client.Client",
        "nvflare.apis.fl_context.FLContext",
        "nvflare.apis.job_def.JobMetaKey",
        "nvflare.apis.shareable.Shareable",
        "nvflare.fuel.utils.fobs.datum.DatumRef",
        "nvflare.private.admin_defs.Message",
        "tuple",
    }
)
"""What a job needs: who takes part, FLARE's contexts, tasks and requests; the requests of ours are bytes in a tuple."""


class ForbiddenContentError(NetworkError):
    """A content holds something that no message of this network holds."""


def restrict() -> None:
    """Make this process build nothing but the types above from what others send."""
    fobs.Packer.unpack = _only_ours(fobs.Packer.unpack)
    lobs._get_one_section = _without_files(lobs._get_one_section)


def _only_ours(unpack: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(unpack)
    def unpacked(packer: Any, values: Any) -> Any:
        if type(values) is dict and fobs.FOBS_TYPE in values:
            name = values[fobs.FOBS_TYPE]
            if not isinstance(name, str) or name not in TYPES:
                raise ForbiddenContentError(
                    "The content of a message names a type that no message of this network has."
                )
        return unpack(packer, values)

    return unpacked


def _without_files(section: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(section)
    def sectioned(stream: Any, expect_datum: bool) -> Any:
        header, number, content = section(stream, expect_datum)
        if header is not None and (header.marker == lobs.MARKER_DATUM_FILE or header.dot != 0):
            raise ForbiddenContentError("The content of a message brings a file, or asks to fetch something.")
        return header, number, content

    return sectioned
