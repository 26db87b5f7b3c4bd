"""`python -m bench`: measure, write the report, print the ratios; see bench/README.md."""

from __future__ import annotations

import argparse
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import report
from bench.contestants import chosen
from bench.growth import Growth
from bench.run import ALL_WORKLOADS, Benchmark, Plan, install_all
from bench.servers import REDIS_SETTINGS, Servers
from bench.workloads import Scale

OUT = Path(__file__).resolve().parent / "out" / "report.json"
QUICK = Scale(
    seconds=0.5,
    drain_seconds=1,
    drain_most=20_000,
    latency_jobs=30,
    latency_seconds=2,
    idle_seconds=5,
    idle_settling_seconds=3,
)
QUICK_GROWTH = Growth(finished=(10_000,), scheduled=10_000, processes=(1, 2), snapshot_minutes=0.1)


def main(arguments: list[str] | None = None) -> None:
    """Run what the command line asks for."""
    asked = _parser().parse_args(arguments)
    # Told to stop, it still takes down what it has started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    console = Console()
    plan = _plan(asked)
    if asked.install:
        install_all(plan.contestants, console)
        return
    servers = Servers({**REDIS_SETTINGS, "appendonly": asked.redis_appendonly})
    benchmark = Benchmark(plan, servers, console)
    try:
        made = benchmark.run()
    except BaseException:
        _write(asked.out.with_suffix(".partial.json"), benchmark.report())
        raise
    finally:
        benchmark.close()
        servers.close()
    if asked.add and asked.out.exists():
        made = report.added(json.loads(asked.out.read_text()), made)
    _write(asked.out, made)
    show(made, console)
    console.print(
        f"written to {asked.out} in {made['made']['took_seconds']} s", highlight=False, soft_wrap=True
    )


def show(made: report.Report, console: Console) -> None:
    """Print rates and ratios."""
    rates = Table("workload", "contestant", "jobs/s", "lowest – highest")
    for workload, rows in made["summary"].items():
        for name, row in rows.items():
            rates.add_row(workload, name, f"{row['median']:,.0f}", f"{row['low']:,.0f} – {row['high']:,.0f}")
    table = Table("figure", "measured", "wanted")
    limits = {name: f"≥ {limit}" for name, limit in report.AT_LEAST.items()}
    limits |= {name: f"≤ {limit}" for name, limit in report.AT_MOST.items()}
    missed = report.missed(made["ratios"])
    for name, value in made["ratios"].items():
        told = "–" if value is None else f"[red]{value}[/]" if name in missed else str(value)
        table.add_row(name, told, limits[name])
    console.print(rates, table)
    for row in made["contestants"]:
        if row["remark"]:
            console.print(f"{row['name']}: {row['remark']}", highlight=False, soft_wrap=True)


def _write(path: Path, made: report.Report) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often everybody does everything")
    parser.add_argument(
        "--close-rounds", type=int, help="rounds after those, of what the promised ratios compare"
    )
    parser.add_argument("--peers", default="all", help="'all', 'none', or names with commas between")
    parser.add_argument("--only", default=",".join(ALL_WORKLOADS), help="workloads, as in w3,w6")
    parser.add_argument("--install", action="store_true", help="install the peers, and measure nothing")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that everything works")
    parser.add_argument("--seconds", type=float, help="how long an enqueueing workload runs")
    parser.add_argument("--jobs", type=int, help="how many jobs everybody drains, instead of so many seconds")
    parser.add_argument("--drain-seconds", type=float, help="how long a drain should take, about")
    parser.add_argument("--snapshot-minutes", type=float, help="how old the open snapshot of W6 is")
    parser.add_argument("--snapshot-rate", type=float, help="how many jobs a second went by meanwhile")
    parser.add_argument(
        "--redis-appendonly", choices=("no", "yes"), default="no", help="whether Redis logs to disk"
    )
    parser.add_argument(
        "--add", action="store_true", help="keep the workloads of the last report that are not run now"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where the report goes")
    return parser


def _plan(asked: argparse.Namespace) -> Plan:
    only = [name.strip().lower() for name in asked.only.split(",")]
    if unknown := [name for name in only if name not in ALL_WORKLOADS]:
        raise SystemExit(f"no workload is called {unknown[0]!r}; there are {', '.join(ALL_WORKLOADS)}")
    scale = QUICK if asked.quick else Scale()
    growth = QUICK_GROWTH if asked.quick else Growth()
    given = {"seconds": asked.seconds, "drain_seconds": asked.drain_seconds, "jobs": asked.jobs}
    snapshot = {"snapshot_minutes": asked.snapshot_minutes, "snapshot_rate": asked.snapshot_rate}
    return Plan(
        contestants=chosen(asked.peers),
        only=only,
        rounds=asked.rounds,
        close_rounds=(0 if asked.quick else 5) if asked.close_rounds is None else asked.close_rounds,
        is_short=asked.quick,
        scale=replace(scale, **{name: value for name, value in given.items() if value is not None}),
        growth=replace(growth, **{name: value for name, value in snapshot.items() if value is not None}),
    )


if __name__ == "__main__":
    main()
