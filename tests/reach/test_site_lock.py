"""One kit, one site: a second is refused by name of the first; whoever was killed holds nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from assistlearn.errors import NetworkError
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.site_lock import SiteLock, holder

HOLD = """
import sys, time
from pathlib import Path
from assistlearn.reach.flare.provisioning.kit import Kit
from assistlearn.reach.flare.site.site_lock import SiteLock
with SiteLock(Kit(Path(sys.argv[1]), "site", "shop", "credit", "localhost", 8002)):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path, "site", "shop", "credit", "localhost", 8002)


def test_a_kit_that_another_process_holds_is_refused_until_that_process_is_killed(kit):
    assert holder(kit.folder) is None
    first = subprocess.Popen([sys.executable, "-c", HOLD, str(kit.folder)], stdout=subprocess.PIPE)
    assert first.stdout is not None
    assert first.stdout.readline() == b"held\n"
    assert holder(kit.folder) == first.pid
    with pytest.raises(
        NetworkError, match=f"'shop' is already running with this kit, as process {first.pid}.*stop that"
    ):
        SiteLock(kit).__enter__()
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert holder(kit.folder) is None
    with SiteLock(kit):
        pass


def test_who_only_looks_does_not_keep_a_site_from_starting(kit):
    with SiteLock(kit):
        pass
    for _ in range(50):
        assert holder(kit.folder) is None
        with SiteLock(kit):
            assert holder(kit.folder) is not None


def test_kits_do_not_keep_each_other_out(kit, tmp_path):
    (tmp_path / "other").mkdir()
    with SiteLock(kit), SiteLock(Kit(tmp_path / "other", "site", "shop", "credit", "localhost", 8002)):
        pass
