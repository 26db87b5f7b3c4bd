"""`python -m chaos --jobs 20000 --faults 100 --seed 7 --report build/chaos/report.json`

Several rounds are one long run: each is written to the report when it is over, and a run that was interrupted goes on
with the next.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.conductor import Plan, run_alone

ADDED_UP = ("accepted", "jobs", "runs", "takeovers", "fenced writes", "unknown commits", "faults")
MUST_BE_ZERO = ("lost", "double effects", "overlapping leases", "stuck")


def main(words: list[str] | None = None) -> int:
    given = _arguments(words)
    report: dict[str, Any] = {"seed": given.seed, "rounds": []}
    if given.resume and given.report.exists():
        report = json.loads(given.report.read_text())
    while len(report["rounds"]) < given.rounds:
        number = len(report["rounds"])
        seed = report["seed"] + number
        _say(f"round {number + 1} of {given.rounds}: {given.jobs} jobs, {given.faults} faults, seed {seed}")
        done = run_alone(
            Plan(seed=seed, jobs=given.jobs, faults=given.faults, rate=given.rate), keep=given.keep
        )
        report["rounds"].append(asdict(done))
        report["total"] = _total(report["rounds"])
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(json.dumps(report, indent=2) + "\n")
        _say(json.dumps(done.figures, indent=2))
        if not done.holds:
            _say(json.dumps(done.violations, indent=2))
            _say(f"broken; repeat with --seed {seed}")
            return 1
    _say(f"{json.dumps(report['total'])}\nthe report is in {given.report}")
    return 0


def _total(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: sum(one["figures"][name] for one in rounds) for name in (*ADDED_UP, *MUST_BE_ZERO)} | {
        "seconds": round(sum(one["seconds"] for one in rounds), 1)
    }


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description="Prove that no job is lost.")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs a round")
    parser.add_argument("--faults", type=int, default=110, help="faults a round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--rate", type=float, default=150.0, help="jobs a second that are enqueued")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--report", type=Path, default=Path("build/chaos/report.json"))
    parser.add_argument("--resume", action="store_true", help="go on with the report's next round")
    parser.add_argument("--keep", type=Path, help="keep the journals in this folder")
    return parser.parse_args(words)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
