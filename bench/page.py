"""The page on performance and its charts, made from a report and from nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bench import report
from bench.charts import Bar, chart, number
from bench.report import Figures, Report

RATES = (report.ONE, report.TOGETHER, report.MANY, report.DRAIN, report.DRAIN_TWO)
CHARTS = {
    "performance-drain.svg": (report.DRAIN, ("rate",), "Draining a backlog, one worker process", "jobs/s"),
    "performance-drain-two.svg": (
        report.DRAIN_TWO,
        ("rate",),
        "Draining a backlog, two worker processes",
        "jobs/s",
    ),
    "performance-enqueue.svg": (report.TOGETHER, ("rate",), "Enqueueing, 100 callers at once", "jobs/s"),
    "performance-latency.svg": (
        report.LATENCY,
        ("start_ms", "p50"),
        "From enqueue to the start of the handler, median; shorter is better",
        "ms",
    ),
}
NOTHING = "–"
SHORT = "**This was a short run, made to see that everything works: its figures mean nothing.**"


def charts(made: Report) -> dict[str, str]:
    """The pictures, by file name; a workload that was not run has none."""
    figures, found = Figures(made), {}
    roles = {row["name"]: row["role"] for row in made["contestants"]}
    for file, (workload, path, title, unit) in CHARTS.items():
        bars = []
        for name in figures.contestants(workload):
            if values := figures.values(workload, name, *path).values():
                median = figures.median(workload, name, *path) or 0
                bars.append(Bar(name, roles[name], median, min(values), max(values)))
        if bars:
            found[file] = chart(title, bars, unit=unit)
    return found


def page(made: Report) -> str:
    """What stands between the markers of docs/reference/performance.md."""
    parts = [_setting(made), _ratios(made), _ahead(made), _rates(made), _pictures(made)]
    parts += [_latency(made), _idle(made), _growth(made), _kept(made), _settings(made), _failures(made)]
    return "\n\n".join(part for part in parts if part)


def _setting(made: Report) -> str:
    machine, settings = made["machine"], made["settings"]
    redis = ", ".join(f"{name} {value or 'off'}" for name, value in settings["redis"].items())
    postgres = ", ".join(f"{name} {value}" for name, value in settings["postgres"].items())
    short = [SHORT] if settings["short"] else []
    return "\n".join(
        [
            *short,
            f"Measured on {made['made']['at'][:10]} in {settings['rounds']} rounds, at commit `{machine['commit']}`:",
            f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gb']:.0f} GB, {machine['system']}, "
            f"Python {machine['python']}.",
            f"{machine['postgres']}: {postgres}; all else by default.",
            f"Redis: {redis}.",
            "A figure is the median of the rounds, with the lowest and the highest behind it.",
        ]
    )


def _ratios(made: Report) -> str:
    missed = report.missed(made["ratios"])
    rows = []
    limits = [(name, f"at least {limit}") for name, limit in report.AT_LEAST.items()]
    limits += [(name, f"at most {limit}") for name, limit in report.AT_MOST.items()]
    for name, limit in limits:
        value = made["ratios"][name]
        verdict = "not measured" if value is None else "**no**" if name in missed else "yes"
        rows.append((f"`{name}`", NOTHING if value is None else str(value), limit, verdict))
    return "## What is promised\n\n" + _table(("figure", "measured", "promised", "kept"), rows)


def _ahead(made: Report) -> str:
    rows = [
        (what, name, f"{times} ×", _gives_up(made, name)) for what, name, times in report.ahead_of_us(made)
    ]
    if not rows:
        return "## Where a peer is ahead\n\nNowhere in this run."
    return "## Where a peer is ahead\n\nOf Windlass on PostgreSQL, in this run.\n\n" + _table(
        ("workload", "peer", "as good", "an enqueued job is"), rows
    )


def _gives_up(made: Report, name: str) -> str:
    return next(row["keeps"]["an_enqueued_job"] for row in made["contestants"] if row["name"] == name)


def _rates(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        cells = [_rate(figures, workload, about["name"]) for workload in RATES]
        cpu = figures.median(report.DRAIN, about["name"], "cpu_us_per_job")
        if any(cell != NOTHING for cell in cells):
            rows.append((_titled(about), *cells, NOTHING if cpu is None else number(cpu)))
    if not rows:
        return ""
    heads = ("", *RATES, "CPU µs a job, W3")
    return "## Jobs a second\n\n" + _table(heads, rows)


def _rate(figures: Figures, workload: str, name: str) -> str:
    values = figures.values(workload, name).values()
    if not values:
        return NOTHING
    median = figures.median(workload, name) or 0
    return f"{number(median)} ({number(min(values))}–{number(max(values))})"


def _pictures(made: Report) -> str:
    drawn = charts(made)
    return "\n\n".join(f"![{CHARTS[file][2]}](../pictures/{file})" for file in drawn)


def _latency(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        cells = [
            " / ".join(
                _median(figures, report.LATENCY, about["name"], kind, cut) for cut in ("p50", "p95", "p99")
            )
            for kind in ("start_ms", "visible_ms")
        ]
        if not cells[0].startswith(NOTHING):
            rows.append((_titled(about), cells[0], NOTHING if cells[1].startswith(NOTHING) else cells[1]))
    if not rows:
        return ""
    heads = ("", "to the start of the handler, ms", "until the caller sees the result, ms")
    return "## Latency of an idle worker\n\np50 / p95 / p99, from the call of enqueue.\n\n" + _table(
        heads, rows
    )


def _idle(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        names = ("rss_mb", "cpu_percent", "transactions_per_second")
        cells = [_median(figures, report.IDLE, about["name"], name) for name in names]
        if cells[0] != NOTHING:
            rows.append((_titled(about), *cells))
    if not rows:
        return ""
    heads = ("", "memory, MB", "processor, %", "transactions a second")
    return "## A worker with nothing to do\n\n" + _table(heads, rows)


def _median(figures: Figures, workload: str, name: str, *path: str) -> str:
    value = figures.median(workload, name, *path)
    return NOTHING if value is None else number(value)


def _growth(made: Report) -> str:
    figures = Figures(made)
    names = [name for name in figures.workloads() if name.startswith(report.GROWTH)]
    if not names:
        return ""
    rows = [(name.removeprefix(report.GROWTH), _rate(figures, name, report.OURS)) for name in names]
    growth = made["settings"]["growth"]
    gone_by = growth["snapshot_minutes"] * 60 * growth["snapshot_rate"]
    told = (
        "Windlass on PostgreSQL, draining a backlog.\n"
        f"The old snapshot was open while {gone_by:,.0f} jobs went by: {growth['snapshot_minutes']:g} minutes at "
        f"{growth['snapshot_rate']:g} jobs a second, without the waiting."
    )
    return f"## As it grows\n\n{told}\n\n" + _table(("", "jobs a second"), rows)


def _kept(made: Report) -> str:
    rows = [
        (_titled(row), *(row["keeps"][name] for name in row["keeps"]), f"{row['done']}")
        for row in made["contestants"]
    ]
    heads = (
        "",
        "an enqueued job is",
        "keeps out a late worker",
        "finished jobs",
        "results",
        "a job counts as done",
    )
    return "## What each keeps, and gives up\n\n" + _table(heads, rows)


def _settings(made: Report) -> str:
    rows = []
    for row in made["contestants"]:
        versions = ", ".join(f"{name} {version}" for name, version in row["versions"].items())
        rows.append((row["name"], row["settings"], versions or NOTHING, row["remark"] or NOTHING))
    return "## Versions and settings\n\n" + _table(("", "settings", "versions", "remark"), rows)


def _failures(made: Report) -> str:
    rows = [
        (run["workload"], run["contestant"], str(run["round"] + 1), run["error"])
        for run in made["runs"]
        if "error" in run
    ]
    return "## What failed\n\n" + _table(("workload", "", "round", "reason"), rows) if rows else ""


def _titled(row: dict[str, Any]) -> str:
    where = {"postgres": "PostgreSQL", "redis": "Redis", "rabbitmq": "RabbitMQ", "sqlite": "SQLite"}[
        row["store"]
    ]
    title = f"{row['name']}, {where}" if row["store"] not in row["name"] else row["name"]
    return f"**{title}**" if row["role"] == "ours" else title


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
