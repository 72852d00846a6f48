"""What a job at the relay is made of."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("nvflare", reason="needs the extra [flare]")


def test_a_job_at_the_relay_loads_nothing_that_learns():
    """It passes messages on; loading scikit-learn would take it seconds and much memory, in every job."""
    loaded = "sorted({'sklearn', 'skops', 'polars'} & {*sys.modules})"
    code = f"import sys, assistlearn.reach.flare.site.apps; print({loaded})"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert said.stdout == "[]\n"
