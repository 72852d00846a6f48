"""Lets the guard of the benchmark's sites take the job with the echo, and calls of it; on their path for ``hops``."""

import sys

if "assistlearn.reach.flare.guard.behind_guard" in sys.orig_argv:
    from assistlearn.reach.flare.guard import lists
    from assistlearn.reach.flare.provisioning import policy

    policy.SITE_CLASS = "bench.network_apps.EchoSite"
    lists.METHODS["job"] |= {"echo"}
