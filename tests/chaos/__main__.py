"""`python -m chaos --jobs 20000 --faults 100 --seed 7 --report build/chaos/report.json`

Several rounds are one long run: each is written to the report when it is over, and a run that was interrupted goes on
with those that are missing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.conductor import Plan, run_alone

ADDED_UP = ("accepted", "jobs", "runs", "takeovers", "fenced writes", "unknown commits", "faults")
FAULTS_IN = 0.75
"""The part of a round in which its faults are begun; those that last longest end after it."""
MUST_BE_ZERO = ("lost", "double effects", "overlapping leases", "stuck")


def main(words: list[str] | None = None) -> int:
    given = _arguments(words)
    report: dict[str, Any] = {"seed": given.seed, "rounds": []}
    if given.resume and given.report.exists():
        report = json.loads(given.report.read_text())
    done = {one["seed"] for one in report["rounds"]}
    seeds = [seed for seed in range(report["seed"], report["seed"] + given.rounds) if seed not in done]
    if given.rounds == 1:
        holds = all(
            _noted(asdict(run_alone(_plan(seed, given), keep=given.keep)), given, report) for seed in seeds
        )
    else:
        holds = asyncio.run(_play(seeds, given, report))
    _say(f"{json.dumps(report.get('total'))}\nthe report is in {given.report}")
    return 0 if holds else 1


def _leave(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(128 + signal.SIGTERM)


async def _play(seeds: list[int], given: argparse.Namespace, report: dict[str, Any]) -> bool:
    """Make the rounds that are missing, several at a time, until one breaks a rule; the report grows by each."""
    room, broken = asyncio.Semaphore(given.at_once), asyncio.Event()

    async def play(seed: int) -> None:
        async with room:
            if broken.is_set():
                return
            _say(f"seed {seed}: {given.jobs} jobs, {given.faults} faults")
            if not _noted(await _round(seed, given), given, report):
                broken.set()

    await asyncio.gather(*map(play, seeds))
    return not broken.is_set()


def _noted(round_: dict[str, Any], given: argparse.Namespace, report: dict[str, Any]) -> bool:
    """Write a round into the report; whether every rule held in it."""
    report["rounds"].append(round_)
    report["total"] = _total(report["rounds"])
    given.report.parent.mkdir(parents=True, exist_ok=True)
    given.report.write_text(json.dumps(report, indent=2) + "\n")
    _say(f"seed {round_['seed']}: {json.dumps(round_['figures'])}")
    if round_["violations"]:
        _say(f"{json.dumps(round_['violations'], indent=2)}\nbroken; repeat with --seed {round_['seed']}")
    return not round_["violations"]


def _plan(seed: int, given: argparse.Namespace) -> Plan:
    return Plan(
        seed=seed,
        jobs=given.jobs,
        faults=given.faults,
        rate=given.rate,
        pause=given.jobs / given.rate / given.faults * FAULTS_IN,
        redis=given.redis,
    )


async def _round(seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """Make a round in a process of its own: a proxy reads every message, and several in one wait for each other."""
    with tempfile.TemporaryDirectory(prefix="backstay-round-") as folder:
        own = Path(folder) / "report.json"
        words = {
            "--seed": seed,
            "--jobs": given.jobs,
            "--faults": given.faults,
            "--rate": given.rate,
            "--report": own,
        }
        if given.keep:
            words["--keep"] = given.keep / str(seed)
        flags = ["--redis"] if given.redis else []
        # In a session of its own, so that who interrupts us interrupts it once, through us.
        child = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "chaos", *(str(word) for pair in words.items() for word in pair), *flags),
            stdout=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            await child.wait()
        except asyncio.CancelledError:
            child.terminate()
            await child.wait()
            raise
        found: dict[str, Any] = json.loads(own.read_text())["rounds"][0]
        return found


def _total(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: sum(one["figures"][name] for one in rounds) for name in (*ADDED_UP, *MUST_BE_ZERO)} | {
        "seconds": round(sum(one["seconds"] for one in rounds), 1)
    }


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description="Prove that no job is lost.")
    parser.add_argument("--jobs", type=int, default=20_000, help="jobs a round")
    parser.add_argument("--faults", type=int, default=110, help="faults a round")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=1, help="rounds at a time")
    parser.add_argument("--rate", type=float, default=150.0, help="jobs a second that are enqueued")
    parser.add_argument("--redis", action="store_true", help="a Redis suggests the jobs, and fails as well")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--report", type=Path, default=Path("build/chaos/report.json"))
    parser.add_argument("--resume", action="store_true", help="go on with the report's next round")
    parser.add_argument("--keep", type=Path, help="keep the journals in this folder")
    return parser.parse_args(words)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    # Told to stop, it still takes down what it has started.
    signal.signal(signal.SIGTERM, _leave)
    sys.exit(main())
