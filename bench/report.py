"""What do the runs say? Medians, ranges and ratios, computed from values alone."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Run = dict[str, Any]
Report = dict[str, Any]

# What is to be reached, from the page that promises it; the last two are not ratios, and at most.
AT_LEAST = {
    "drain_pg_vs_bare_loop": 0.85,
    "drain_pg_vs_best_peer": 1.2,
    "drain_pg_vs_best_python_peer": 2.5,
    "drain_pg_two_processes_vs_one": 1.2,
    "drain_sqlite_vs_huey_sqlite": 8,
    "enqueue_one_vs_bare_insert": 0.85,
    "enqueue_100_callers_vs_best_peer": 5,
    "enqueue_many_vs_bare_unnest": 0.6,
    "latency_p50_best_pg_peer_vs_ours": 1.3,
    "drain_5m_finished_vs_empty": 0.9,
    "drain_1m_scheduled_vs_empty": 0.95,
    "drain_old_snapshot_vs_without": 0.5,
    "drain_8_processes_vs_best_n": 0.85,
}
AT_MOST = {"idle_transactions_per_second_and_worker": 0.5, "idle_worker_rss_mb": 50}
OURS, OURS_SQLITE, BARE = "backstay postgres", "backstay sqlite", "bare loop 500"
ONE, TOGETHER, MANY = "W1 enqueue one", "W1c enqueue, 100 callers", "W2 enqueue many"
DRAIN, DRAIN_TWO, LATENCY, IDLE = "W3 drain", "W3 drain, 2 processes", "W4 latency", "W5 idle"
# Of W5 in reports that do not say so: a tick of 10 ms, or a transaction, in 20 s.
LEAST_SEEN = 0.05
GROWTH = "W6 "
EMPTY, FINISHED, SCHEDULED = GROWTH + "empty", GROWTH + "5000000 finished", GROWTH + "1000000 scheduled"
SNAPSHOT, NO_SNAPSHOT = GROWTH + "old snapshot", GROWTH + "after the snapshot"
PROCESSES = tuple(f"{GROWTH}{count} processes" for count in (1, 2, 4, 8))


def processes(count: int) -> str:
    """The name of the workload with so many worker processes."""
    return f"{GROWTH}{count} processes"


Side = tuple[str, str | None]
"""A workload and who does it; None where nobody suits."""


@dataclass(frozen=True)
class Comparison:
    """What stands above and what below in a ratio, and which of their figures; the rate if none is named."""

    above: Side
    below: Side
    path: tuple[str, ...] = ()


class Figures:
    """The runs of a report, by workload and contestant and round."""

    def __init__(self, report: Report) -> None:
        self._runs: list[Run] = [run for run in report["runs"] if "error" not in run]
        self._about = {row["name"]: row for row in report["contestants"]}
        self._rounds: int = report["settings"]["rounds"]
        self._rounds_of: dict[str, int] = {
            name: one["settings"]["rounds"] for one in report.get("earlier", ()) for name in one["workloads"]
        }

    def role(self, contestant: str) -> str | None:
        """Whether it is us, a peer or a limit; None for one that was not there."""
        return self._about[contestant]["role"] if contestant in self._about else None

    def workloads(self) -> list[str]:
        """In the order in which they were first run."""
        return list(dict.fromkeys(run["workload"] for run in self._runs))

    def contestants(self, workload: str) -> list[str]:
        """Who has figures for it."""
        return list(dict.fromkeys(run["contestant"] for run in self._runs if run["workload"] == workload))

    def values(self, workload: str, contestant: str, *path: str) -> dict[int, float]:
        """One figure, by round."""
        found: dict[int, float] = {}
        for run in self._runs:
            if (run["workload"], run["contestant"]) == (workload, contestant):
                value: Any = run
                for part in path or ("rate",):
                    value = None if value is None else value.get(part)
                if value is not None:
                    found[run["round"]] = value
        return found

    def shared(self, workload: str, contestant: str, *path: str) -> dict[int, float]:
        """One figure, by those rounds that everybody took part in: only these compare all with one another."""
        rounds = self._rounds_of.get(workload, self._rounds)
        found = self.values(workload, contestant, *path)
        return {number: value for number, value in found.items() if number < rounds}

    def median(self, workload: str, contestant: str, *path: str) -> float | None:
        """The middle of the rounds that everybody took part in."""
        values = self.shared(workload, contestant, *path)
        return statistics.median(values.values()) if values else None

    def best(
        self,
        workload: str,
        suits: Callable[[dict[str, Any]], bool],
        *path: str,
        lowest: bool = False,
    ) -> str | None:
        """The contestant with the highest median, or the lowest, among those that suit."""
        found = {
            name: median
            for name in self.contestants(workload)
            if suits(self._about[name]) and (median := self.median(workload, name, *path)) is not None
        }
        if not found:
            return None
        return (min if lowest else max)(found, key=found.__getitem__)


def summary(report: Report) -> dict[str, dict[str, dict[str, float]]]:
    """Median and range of every rate, of the rounds that everybody took part in."""
    figures, told = Figures(report), {}
    for workload in figures.workloads():
        rows = {}
        for name in figures.contestants(workload):
            if values := list(figures.shared(workload, name).values()):
                middle = statistics.median(values)
                rows[name] = {
                    "median": middle,
                    "low": min(values),
                    "high": max(values),
                    "rounds": len(values),
                }
        if rows:
            told[workload] = rows
    return told


def comparisons(figures: Figures) -> dict[str, Comparison]:
    """What each promised ratio compares."""
    bare = figures.best(DRAIN, lambda row: row["role"] == "limit" and row["store"] == "postgres")
    peer = figures.best(DRAIN, is_peer)
    python_peer = figures.best(DRAIN, lambda row: is_peer(row) and row["language"] == "python")
    enqueuer = figures.best(TOGETHER, is_peer)
    p50 = ("start_ms", "p50")
    quickest = figures.best(LATENCY, is_postgres_peer, *p50, lowest=True)
    widest = max(PROCESSES, key=lambda name: figures.median(name, OURS) or 0)
    return {
        "drain_pg_vs_bare_loop": Comparison((DRAIN, OURS), (DRAIN, bare)),
        "drain_pg_vs_best_peer": Comparison((DRAIN, OURS), (DRAIN, peer)),
        "drain_pg_vs_best_python_peer": Comparison((DRAIN, OURS), (DRAIN, python_peer)),
        "drain_pg_two_processes_vs_one": Comparison((DRAIN_TWO, OURS), (DRAIN, OURS)),
        "drain_sqlite_vs_huey_sqlite": Comparison((DRAIN, OURS_SQLITE), (DRAIN, "huey sqlite")),
        "enqueue_one_vs_bare_insert": Comparison((ONE, OURS), (ONE, BARE)),
        "enqueue_100_callers_vs_best_peer": Comparison((TOGETHER, OURS), (TOGETHER, enqueuer)),
        "enqueue_many_vs_bare_unnest": Comparison((MANY, OURS), (MANY, BARE)),
        "latency_p50_best_pg_peer_vs_ours": Comparison((LATENCY, quickest), (LATENCY, OURS), p50),
        "drain_5m_finished_vs_empty": Comparison((FINISHED, OURS), (EMPTY, OURS)),
        "drain_1m_scheduled_vs_empty": Comparison((SCHEDULED, OURS), (EMPTY, OURS)),
        "drain_old_snapshot_vs_without": Comparison((SNAPSHOT, OURS), (NO_SNAPSHOT, OURS)),
        "drain_8_processes_vs_best_n": Comparison((processes(8), OURS), (widest, OURS)),
    }


def compared(report: Report) -> set[Side]:
    """Who does which workload for a promised ratio."""
    found = comparisons(Figures(report)).values()
    return {side for comparison in found for side in (comparison.above, comparison.below)}


def ratios(report: Report) -> dict[str, float | None]:
    """The promised figures; None where the run did not include what is compared.

    A ratio is the median of the ratios of each round, because machines drift between rounds more than within one.
    """
    figures = Figures(report)
    found = {name: _ratio(figures, comparison) for name, comparison in comparisons(figures).items()}
    found |= {
        "idle_transactions_per_second_and_worker": figures.median(IDLE, OURS, "transactions_per_second"),
        "idle_worker_rss_mb": figures.median(IDLE, OURS, "rss_mb"),
    }
    return {name: None if value is None else round(value, 3) for name, value in found.items()}


def ranges(report: Report) -> dict[str, tuple[float, float]]:
    """The lowest and the highest round of each promised ratio that was measured."""
    figures = Figures(report)
    found = {name: _of_rounds(figures, comparison) for name, comparison in comparisons(figures).items()}
    return {name: (min(rounds), max(rounds)) for name, rounds in found.items() if rounds}


def ratios_of_the_bare_loop(report: Report) -> dict[str, float]:
    """The promised ratios with the bare loop in our place, where it does the same: what could be reached at most."""
    figures = Figures(report)

    def swapped(side: Side) -> Side:
        return (side[0], BARE) if side[1] == OURS else side

    found = {
        name: _ratio(figures, Comparison(swapped(one.above), swapped(one.below), one.path))
        for name, one in comparisons(figures).items()
        if OURS in (one.above[1], one.below[1]) and not _is_limit(figures, one.below)
    }
    return {name: round(value, 3) for name, value in found.items() if value is not None}


def _is_limit(figures: Figures, side: Side) -> bool:
    return side[1] is not None and figures.role(side[1]) == "limit"


def added(last: Report, new: Report) -> Report:
    """The new report, with those workloads of the last one that it does not have.

    The figures of one workload always come from one run, so that they can be compared.
    """
    run_now = {run["workload"] for run in new["runs"]}
    kept = [run for run in last["runs"] if run["workload"] not in run_now]
    named = {row["name"]: row for row in (*last["contestants"], *new["contestants"])}
    both: Report = {**new, "contestants": list(named.values()), "runs": [*kept, *new["runs"]]}
    both["earlier"] = _earlier(last, list(dict.fromkeys(run["workload"] for run in kept)))
    return {**both, "summary": summary(both), "ratios": ratios(both)}


def _earlier(last: Report, kept: Sequence[str]) -> list[dict[str, Any]]:
    """The runs that the kept workloads come from."""
    before = [
        {**one, "workloads": [name for name in one.get("workloads", ()) if name in kept]}
        for one in last.get("earlier", ())
    ]
    older = {name for one in before for name in one["workloads"]}
    about = {name: last[name] for name in ("made", "machine", "settings")}
    return [*before, {**about, "workloads": [name for name in kept if name not in older]}]


def missed(found: dict[str, float | None]) -> list[str]:
    """The figures that were measured and are not as good as promised."""
    low = [name for name, limit in AT_LEAST.items() if (value := found[name]) is not None and value < limit]
    high = [name for name, limit in AT_MOST.items() if (value := found[name]) is not None and value > limit]
    return low + high


def is_peer(row: dict[str, Any]) -> bool:
    """Whether a contestant is neither us nor a limit."""
    return bool(row["role"] == "peer")


def is_sqlite_peer(row: dict[str, Any]) -> bool:
    """Whether a peer keeps its jobs in SQLite."""
    return is_peer(row) and bool(row["store"] == "sqlite")


def is_postgres_peer(row: dict[str, Any]) -> bool:
    """Whether a peer keeps its jobs in PostgreSQL."""
    return is_peer(row) and bool(row["store"] == "postgres")


@dataclass(frozen=True)
class Ahead:
    """A peer that is better than we are at something, and how many times as good."""

    what: str
    peer: str
    times: float
    # What its figure is below, where it is too little to be measured; it is better by more than `times` then.
    below: float | None = None


def ahead_of(report: Report, ours: str, suits: Callable[[dict[str, Any]], bool]) -> list[Ahead]:
    """Where those peers that suit are better than we are on one of our databases."""
    figures = Figures(report)
    peers = [row["name"] for row in report["contestants"] if suits(row)]
    found = []
    for workload in (ONE, TOGETHER, MANY, DRAIN, DRAIN_TWO):
        found += _faster(figures, workload, ours, peers)
    for path in (("start_ms", "p50"), ("visible_ms", "p50")):
        found += _lower(figures, LATENCY, ours, peers, *path)
    for name in ("pss_mb", "cpu_percent", "transactions_per_second"):
        found += _lower(figures, IDLE, ours, peers, name)
    return found


def least_seen(figures: Figures, contestant: str) -> float:
    """The least that could be told from nothing in W5, in percent of a processor and in transactions a second."""
    return figures.median(IDLE, contestant, "least_seen") or LEAST_SEEN


def _faster(figures: Figures, workload: str, ours: str, peers: Sequence[str]) -> list[Ahead]:
    own, found = figures.median(workload, ours), []
    for name in peers:
        theirs = figures.median(workload, name)
        if own is not None and theirs is not None and theirs > own:
            found.append(Ahead(workload, name, round(theirs / own, 2)))
    return found


def _lower(figures: Figures, workload: str, ours: str, peers: Sequence[str], *path: str) -> list[Ahead]:
    own, found = figures.median(workload, ours, *path), []
    what = f"{workload}, {' '.join(path)}"
    for name in peers:
        theirs = figures.median(workload, name, *path)
        if own is None or theirs is None or theirs >= own:
            continue
        below = None if theirs else least_seen(figures, name)
        found.append(Ahead(what, name, round(own / (below or theirs), 2), below))
    return found


def _ratio(figures: Figures, comparison: Comparison) -> float | None:
    rounds = _of_rounds(figures, comparison)
    return statistics.median(rounds) if rounds else None


def _of_rounds(figures: Figures, comparison: Comparison) -> list[float]:
    (workload, name), (other_workload, other) = comparison.above, comparison.below
    if name is None or other is None:
        return []
    upper = figures.values(workload, name, *comparison.path)
    lower = figures.values(other_workload, other, *comparison.path)
    return [upper[number] / lower[number] for number in upper if lower.get(number)]
