"""Python runs this at the start of a process whose path has this folder: taps for the tests of a real network.

- In the relay's processes, everything that they receive is written down, after TLS has been taken off.
- In the processes of jobs at sites, every message that an agent gets and gives is written down: as it is before
  encryption and after decryption. Where the folder holds a file ``plain``, calls between sites are not encrypted, and
  where it holds ``plain-NAME``, those of one site.
- Every refusal is written down, and not one a minute.
- The relay can be made hostile: where the folder holds a file ``loose``, or ``plain``, it passes on and takes whatever
  comes, and what a test puts into ``relay-says`` it sends.
"""

import os
import sys
import threading
import time
from pathlib import Path

TAPS = Path(os.environ.get("ASSISTLEARN_TAPS", "/nowhere"))
SITE = os.environ.get("ASSISTLEARN_SITE", "")
SITES = ("clinic", "lab", "scans", "shop")


def tap_relay() -> None:
    from nvflare.fuel.f3.sfm.conn_manager import ConnManager

    process = ConnManager.process_frame_task
    log = (TAPS / f"relay-{os.getpid()}.frames").open("ab", buffering=0)

    def tapped(self, connection, frame):
        log.write(bytes(frame))
        return process(self, connection, frame)

    ConnManager.process_frame_task = tapped


def corrupt_relay() -> None:
    """Let the relay do what a test wants."""
    from assistlearn.reach.flare.guard.judging import TAKE, Judge

    verdict = Judge.verdict
    switches = [TAPS / name for name in ("loose", "plain", *(f"plain-{site}" for site in SITES))]

    def loose(self, *arguments):
        return TAKE if any(switch.exists() for switch in switches) else verdict(self, *arguments)

    Judge.verdict = loose
    threading.Thread(target=say_what_tests_want, daemon=True).start()


def say_what_tests_want() -> None:
    import msgpack
    from nvflare.fuel.f3.cellnet.core_cell import CoreCell
    from nvflare.fuel.f3.message import Message

    while True:
        time.sleep(0.05)
        for file in sorted(TAPS.glob("relay-says/*.msg")):
            said = msgpack.unpackb(file.read_bytes())
            cell = CoreCell.ALL_CELLS["server"]
            message = Message(said["headers"], said["payload"])
            cell.communicator.send(cell.agents[said["to"]].endpoint, CoreCell.APP_ID, message)
            file.unlink()


def tap_site() -> None:
    from assistlearn.agent.service import AgentService
    from assistlearn.reach.flare.site import sealing

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
    from assistlearn.reach.flare.guard import refusals

    refusals.QUIET, refusals.BURST = 0.2, 10_000
    if SITE == "localhost":
        tap_relay()
        if "relay" in sys.orig_argv:
            corrupt_relay()
    elif "job" in sys.orig_argv:
        tap_site()
