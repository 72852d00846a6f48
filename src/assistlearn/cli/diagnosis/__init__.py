"""What ``assistlearn doctor`` looks at: packages, extras, ports, folders, the clock, the disk, the machine.

Every check is a function that yields findings. None of them imports a heavy package, sends anything, or leaves a file
behind. The findings hold no secret, no user name and no path in a home folder, so that they can be shown to others.
"""

from assistlearn.cli.diagnosis.examination import examine
from assistlearn.cli.diagnosis.health_finding import HealthFinding

__all__ = ["HealthFinding", "examine"]
