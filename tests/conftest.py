"""Hypothesis' profiles: the same examples in every run on CI, fresh ones elsewhere."""

import os

from hypothesis import settings

# No deadlines: the machines that run these tests are shared and noisy.
settings.register_profile("assistlearn", deadline=None)
settings.register_profile("assistlearn-ci", deadline=None, derandomize=True, database=None)
settings.load_profile("assistlearn-ci" if os.environ.get("CI") else "assistlearn")
