"""Python runs this at the start of a process whose path has this folder: taps for the tests of a real network.

- In the relay's processes, everything that they receive is written down, after TLS has been taken off.
- In the processes of jobs at sites, every message that an agent gets and gives is written down: as it is before
  encryption and after decryption. Where the folder holds a file ``plain``, calls between sites are not encrypted, and
  where it holds ``plain-NAME``, those of one site.
"""

import os
import sys
from pathlib import Path

TAPS = Path(os.environ.get("ASSISTLEARN_TAPS", "/nowhere"))
SITE = os.environ.get("ASSISTLEARN_SITE", "")


def tap_relay() -> None:
    from nvflare.fuel.f3.sfm.conn_manager import ConnManager

    process = ConnManager.process_frame_task
    log = (TAPS / f"relay-{os.getpid()}.frames").open("ab", buffering=0)

    def tapped(self, connection, frame):
        log.write(bytes(frame))
        return process(self, connection, frame)

    ConnManager.process_frame_task = tapped


def tap_site() -> None:
    from assistlearn.reach.flare.site import sealing
    from assistlearn.service.service import AgentService

    sealing.SECURE = not ((TAPS / "plain").exists() or (TAPS / f"plain-{SITE}").exists())
    answer = AgentService.answer

    def tapped(self, request, asker=None):
        reply = answer(self, request, asker)
        for kind, content in (("request", request), ("reply", reply)):
            number = len(list(TAPS.glob(f"{SITE}-*")))
            (TAPS / f"{SITE}-{number:04d}-{kind}.msg").write_bytes(content)
        return reply

    AgentService.answer = tapped


if SITE and TAPS.is_dir():
    if SITE == "localhost":
        tap_relay()
    elif "job" in sys.orig_argv:
        tap_site()
