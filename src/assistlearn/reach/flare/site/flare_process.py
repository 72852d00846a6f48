"""FLARE's process of a site or of the relay, which listens to the list of revoked certificates.

``python -m assistlearn.reach.flare.site.flare_process client.client_train ...``
"""

from __future__ import annotations

import runpy
import sys

from assistlearn.reach.flare.site.revocation import install_revocation


def main() -> None:
    """Run one of FLARE's programs with the arguments that follow its name."""
    program = sys.argv.pop(1)
    install_revocation()
    runpy.run_module(f"nvflare.private.fed.app.{program}", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
