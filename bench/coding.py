"""Seconds to code scores and to read them again, and what they cost.

    python -m bench.coding [--samples 100000]

Says "too slow" and ends with 1 where 100,000 samples of ten classes need more than two seconds either way.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

from assistlearn.core.state import quantise_vectors, truth_first
from assistlearn.core.votes import heights
from assistlearn.protocol.arrays import pack_levels, unpack_levels

AT_MOST = 2.0
"""Seconds for 100,000 samples of ten classes, each way."""
CASES = [(10, 4), (10, 3), (10, 8), (3, 4), (26, 4)]


def measure(n: int, n_classes: int, bits: int) -> tuple[float, float, float]:
    """Return the bits per sample, the seconds to write and the seconds to read."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, n_classes, n)
    said = quantise_vectors(truth_first(heights(rng.dirichlet([0.3] * n_classes, n), n_classes), codes), bits)
    start = time.process_time()
    packed = pack_levels(said.levels, bits, said.scale, codes)
    written = time.process_time()
    again, _ = unpack_levels(packed, said.levels.size, bits, n_classes, codes)
    read = time.process_time()
    assert np.array_equal(again, said.levels.reshape(-1))
    return 8 * len(packed.data) / n, written - start, read - written


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100_000)
    args = parser.parse_args()
    slow = False
    for n_classes, bits in CASES:
        cost, write, read = measure(args.samples, n_classes, bits)
        late = max(write, read) > AT_MOST * args.samples * n_classes / 1e6
        slow |= late
        seconds = f"{write:.2f} s to write, {read:.2f} s to read" + (" (too slow)" if late else "")
        print(f"{n_classes} classes, {bits} bits: {cost:.1f} bits per sample, {seconds}")
    sys.exit(int(slow))


if __name__ == "__main__":
    main()
