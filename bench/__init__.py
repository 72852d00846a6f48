"""Benchmarks: run one as ``python -m bench.wire``, from the folder above."""
