"""Runs every suite of tests as the gate does, and looks closer at what failed.

    python tools/run_gate.py --pytest "python -m pytest -n 2 …" tests apps/passport/tests …

Suites run one after another, all of them, whatever failed before. A few tests that failed are run once more, alone:
one that fails again fails the gate; one that passes alone is a defect of the test all the same, so it is named at the
end for somebody to mend, but it does not hold up a change that has nothing to do with it. A suite that did not come
to its end (a process died, nothing was collected) fails the gate at once.
"""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

MOST_AGAIN = 4
"""More failures than this in a suite have one cause, which is no accident."""

TESTS_FAILED = 1
LAST_FAILED = Path(".pytest_cache/v/cache/lastfailed")


@dataclass
class Gate:
    """What the suites have come to so far."""

    pytest: list[str]
    failed: list[str] = field(default_factory=list)
    only_alone: list[str] = field(default_factory=list)

    def run(self, suite: str) -> None:
        """Run one suite, and once more what failed in it."""
        LAST_FAILED.unlink(missing_ok=True)
        code = subprocess.run([*self.pytest, "--dist", "loadfile", suite], check=False).returncode
        if code == 0:
            return
        tests = _last_failed()
        if code != TESTS_FAILED or not 0 < len(tests) <= MOST_AGAIN:
            self.failed.append(f"{suite} (exit code {code}, {len(tests)} failed)")
            return
        print(f"\nOnce more, alone: {len(tests)} of {suite}", flush=True)
        again = subprocess.run([*self.pytest, "-n", "0", *tests], check=False).returncode
        (self.failed if again else self.only_alone).extend(tests)


def _last_failed() -> list[str]:
    return list(json.loads(LAST_FAILED.read_text())) if LAST_FAILED.exists() else []


def main() -> int:
    """Run the suites given; 0 if every test passed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pytest", required=True, help="the command that runs tests")
    parser.add_argument("suites", nargs="+")
    options = parser.parse_args()

    gate = Gate(shlex.split(options.pytest))
    for suite in options.suites:
        began = time.monotonic()
        gate.run(suite)
        print(f"{suite}: {time.monotonic() - began:.0f} s\n", flush=True)
    for test in gate.only_alone:
        print(f"PASSES ONLY ALONE, find out why: {test}")
    for test in gate.failed:
        print(f"FAILED: {test}")
    return 1 if gate.failed else 0


if __name__ == "__main__":
    sys.exit(main())
