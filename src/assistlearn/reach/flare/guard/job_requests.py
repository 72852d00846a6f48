"""Whether a request of the relay to a site's parent process is for our job, and for nothing else.

The relay's program may have been changed, so its requests are checked. It may only ask a site to take part in a job,
and every job has the same files: those that :mod:`~assistlearn.reach.flare.carrying.job_definition` writes. Only the
name of the waiting command differs. A job is named by a UUID, so that the name of a folder cannot pass for a job.
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from nvflare.lighter.tool_consts import NVFLARE_SIG_FILE as SIGNATURES
from nvflare.lighter.tool_consts import NVFLARE_SUBMITTER_CRT_FILE as SIGNER
from nvflare.private.defs import RequestHeader

from assistlearn.reach.flare.carrying import job_definition
from assistlearn.reach.flare.guard.cell_names import RELAY, CellName, is_job, plain
from assistlearn.reach.flare.guard.lists import REQUESTS

LARGEST = 1 << 16
"""Bytes of a job's files, packed or unpacked, at the most."""

SIGNED = frozenset(f"{folder}{name}" for folder in ("", "config/") for name in (SIGNATURES, SIGNER))
"""The signatures that the initiator's admin kit adds to a job's file. FLARE checks them; here they must be there."""

MOST = 8
"""How many jobs a site runs at once, at the most; a relay that was not changed runs at most four."""

FACTS = frozenset(
    {
        *("name", "resource_spec", "min_clients", "mandatory_clients", "deploy_map", "study", "job_id", "job_clients"),
        *("submitter_name", "submitter_org", "submitter_role", "job_folder_name", "submit_time", "submit_time_iso"),
        *("start_time", "duration", "data_storage_format", "status", "schedule_history", "schedule_count"),
        "last_schedule_time",
    }
)
"""What FLARE says about a job of ours. A launcher, a scope or code of its own are not among these keys."""


def refused(request: Any, sender: CellName, me: str, running: int = 0) -> str:
    """Return why a request is refused; empty where it is not.

    Parameters
    ----------
    request : Message
        FLARE's message, decoded.
    sender : CellName
        The relay, or a job of this site.
    me : str
        This site.
    running : int
        How many jobs run here already.
    """
    topic, header = request.topic, request.headers.get
    if sender.site == me:
        ours = topic == "train.notify_job_status" and header(RequestHeader.JOB_ID) == sender.job
        return "" if ours else "a job may only report its own status"
    if sender != (RELAY, "") or topic not in REQUESTS:
        return "a site's parent process only accepts, starts and ends jobs"
    if topic == "scheduler.cancel_resource":
        return "" if not request.body else "it names resources"
    job = header(RequestHeader.JOB_ID)
    if not is_job(job):
        return f"{plain(job)!r} does not name a job"
    if topic in ("scheduler.check_resource", "train.start_job") and (request.body or running >= MOST):
        return "it names resources" if request.body else f"{running} jobs run here already"
    if topic in ("train.deploy", "train.start_job") and (wrong := _foreign(header(RequestHeader.JOB_META), job, me)):
        return wrong
    if topic == "train.deploy":
        return _other_app(header(RequestHeader.APP_NAME), request.body)
    return ""


def _foreign(facts: Any, job: str, me: str) -> str:
    """Return how the facts about a job differ from those about ours; empty where they do not."""
    if not isinstance(facts, dict) or not isinstance(facts.get("deploy_map", {}), dict):
        return "the facts about the job are missing"
    if strange := [plain(key) for key in facts if key not in FACTS]:
        return f"the job has unknown facts: {', '.join(strange[:3])}"
    places = facts.get("deploy_map")
    initiators, sites = _texts(facts.get("mandatory_clients")), _texts(places.get("site") if places else None)
    if len(initiators) != 1 or me not in sites:
        return "the job does not have exactly one initiator, or this site is not part of it"
    wanted = job_definition.meta(initiators[0], sites) | {"job_id": job, "study": "default"}
    if any(facts.get(key) != value for key, value in wanted.items()):
        return "the job is not a job of assistlearn"
    return _misnamed(facts.get("job_clients", []), sites)


def _misnamed(members: Any, sites: list[str]) -> str:
    """Return why the list of a job's members is wrong; empty where no site would be reached under another's name.

    FLARE believes such a list: a message for one site would go to another, sealed for that other site, and
    the answer of that site would be accepted.
    """
    for member in members if isinstance(members, list) else [None]:
        if not isinstance(member, dict) or not {*member} <= {"name", "fqcn", "fqsn", "is_leaf", "site_config"}:
            return "the list of the job's members is not valid"
        name = member.get("name")
        if name not in sites or {member.get("fqcn", name), member.get("fqsn", name)} != {name}:
            return f"in the job, {plain(name)!r} would answer under another's name"
    return ""


def _texts(values: Any) -> list[str]:
    return values if isinstance(values, list) and all(isinstance(value, str) for value in values) else []


def _other_app(name: Any, content: Any) -> str:
    """Return how the files of a job differ from ours; empty where they do not."""
    if name != job_definition.SITE_APP or not isinstance(content, bytes) or len(content) > LARGEST:
        return "the job's part for a site is not that of assistlearn"
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [entry.filename for entry in archive.infolist() if entry.filename != "config/"]
            if sorted(names) != sorted({*SIGNED, job_definition.SITE_FILE}):
                return (
                    f"the job has other files than those of assistlearn: {plain(', '.join(sorted({*names} - SIGNED)))}"
                )
            if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
                return "the job's files are too large"
            values = json.loads(archive.read(job_definition.SITE_FILE))
    except (zipfile.BadZipFile, ValueError, OSError, RuntimeError, NotImplementedError, EOFError) as error:
        return f"the job's files cannot be read ({type(error).__name__})"
    return "" if job_definition.is_site_part(values) else "the job's file is not that of assistlearn"
