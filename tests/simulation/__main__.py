"""Runs simulations from the command line: `--seed 17` repeats one, `--trace` prints everything that happened in it."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from simulation.scenario import simulate


def main() -> int:
    """Run one seed with its trace, or many with figures alone."""
    parser = argparse.ArgumentParser(prog="python -m simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the run to make, or the first of many")
    parser.add_argument("--count", type=int, default=1, help="how many seeds to run")
    parser.add_argument("--trace", action="store_true", help="print the whole trace and nothing else")
    asked = parser.parse_args()
    started, totals, seconds = time.perf_counter(), Counter[str](), 0.0
    for seed in range(asked.seed, asked.seed + asked.count):
        report = simulate(seed)
        if asked.trace:
            sys.stdout.write("\n".join(report.trace) + "\n")
        elif report.violation is not None:
            sys.stdout.write(report.explain(f"make simulate SEED={seed}") + "\n")
        if report.violation is not None:
            return 1
        totals.update(report.counters)
        seconds += report.virtual_seconds
    if not asked.trace:
        took = time.perf_counter() - started
        sys.stdout.write("".join(f"{name:40} {totals[name]:>9}\n" for name in sorted(totals)))
        sys.stdout.write(
            f"{asked.count} seeds, {seconds:.0f} virtual seconds in {took:.1f} s: every rule held\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
