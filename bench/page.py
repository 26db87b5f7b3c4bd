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
PROMISED = """\
A ratio is the median of the ratios of the rounds, and behind it stand the lowest and the highest.
Those rounds are included in which only what is compared was run once more.
The last column is the same ratio for the bare loop where it does the same: what is left of it without a queue's work.
The two figures of an idle worker were measured once.
`idle_worker_rss_mb` is the resident memory (RSS) of a Backstay worker's process; pages that it shares count in full."""
RATES_TOLD = """\
The median of the rounds that everybody took part in, and behind it the lowest and the highest.
CPU is the processor time of the worker processes, without that of the server: the median of the rounds.
The last column is what each does without; a table below says how."""
LATENCY_TOLD = """\
p50 / p95 / p99 from the call of enqueue, each the median of the rounds that everybody took part in.
Behind the p50 stand its lowest and highest round."""
IDLE_TOLD = """\
Measured once, after the rounds, with the workers of all of them running at the same time.
Memory is the proportional share (PSS) of all processes of a worker.
A page that several processes have is divided among them, also among those of different contestants.
Processor time is counted for each process in steps of 10 ms, so that a little cannot be told from nothing."""
GROWTH_TOLD = """\
Backstay on PostgreSQL, draining a backlog, in rounds after all others: the median, the lowest and the highest.
Handlers in processes run four at a time, all others a hundred.
Of the jobs of which one in ten fails, each has one attempt: who fails is dead at once, and no retry is measured."""
SHORT = "**This was a short run, made to see that everything works: its figures mean nothing.**"


def charts(made: Report) -> dict[str, str]:
    """The pictures, by file name; a workload that was not run has none."""
    figures, found = Figures(made), {}
    roles = {row["name"]: row["role"] for row in made["contestants"]}
    for file, (workload, path, title, unit) in CHARTS.items():
        bars = []
        for name in figures.contestants(workload):
            if values := figures.shared(workload, name, *path).values():
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
    close = settings.get("close_rounds", 0)
    more = f" and {close} more of what is promised" if close else ""
    return "\n".join(
        [
            *short,
            f"Measured on {made['made']['at'][:10]} in {_rounds(settings)}{more}, at commit "
            f"`{machine['commit']}`:",
            f"{machine['cores']} cores of {machine['processor']}, {machine['memory_gb']:.0f} GB, {machine['system']}, "
            f"Python {machine['python']}.",
            f"{machine['postgres']}: {postgres}; all else by default.",
            f"Redis: {redis}.",
            *(_earlier(one) for one in made.get("earlier", ()) if one.get("workloads")),
        ]
    )


def _rounds(settings: dict[str, Any]) -> str:
    return "one round" if settings["rounds"] == 1 else f"{settings['rounds']} rounds"


def _earlier(one: dict[str, Any]) -> str:
    return (
        f"Of a run of {one['made']['at'][:10]} in {_rounds(one['settings'])}, at commit "
        f"`{one['machine']['commit']}`: {'; '.join(one['workloads'])}."
    )


def _ratios(made: Report) -> str:
    missed, bare = report.missed(made["ratios"]), report.ratios_of_the_bare_loop(made)
    ranges = report.ranges(made)
    rows = []
    limits = [(name, f"at least {limit}") for name, limit in report.AT_LEAST.items()]
    limits += [(name, f"at most {limit}") for name, limit in report.AT_MOST.items()]
    for name, limit in limits:
        value = made["ratios"][name]
        verdict = "not measured" if value is None else "**no**" if name in missed else "yes"
        told = NOTHING if value is None else str(value)
        if name in ranges:
            low, high = ranges[name]
            told += f" ({low:.2f}–{high:.2f})"
        rows.append((f"`{name}`", told, limit, verdict, str(bare.get(name, NOTHING))))
    heads = ("figure", "measured", "promised", "kept", "the bare loop in our place")
    return f"## What is promised\n\n{PROMISED}\n\n" + _table(heads, rows)


def _ahead(made: Report) -> str:
    on_postgres = report.ahead_of(made, report.OURS, report.is_peer)
    on_sqlite = report.ahead_of(made, report.OURS_SQLITE, report.is_sqlite_peer)
    return "\n\n".join(
        [
            "## Where a peer is ahead",
            "Of Backstay on PostgreSQL, all peers that were measured:",
            _ahead_table(made, on_postgres),
            "Of Backstay on SQLite, the peers on SQLite that were measured:",
            _ahead_table(made, on_sqlite),
        ]
    )


def _ahead_table(made: Report, ahead: Sequence[report.Ahead]) -> str:
    if not ahead:
        return "nowhere."
    rows = [(one.what, one.peer, _times(one), _gives_up(made, one.peer)) for one in ahead]
    return _table(("workload", "peer", "as good", "an enqueued job is"), rows)


def _times(one: report.Ahead) -> str:
    if one.below is None:
        return f"{one.times} ×"
    unit = " %" if one.what.endswith("percent") else ""
    return f"more than {one.times} ×: below {number(one.below)}{unit}"


def _gives_up(made: Report, name: str) -> str:
    return next(row["keeps"]["an_enqueued_job"] for row in made["contestants"] if row["name"] == name)


def _rates(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        cells = [_ranged(figures, workload, about["name"]) for workload in RATES]
        cpu = figures.median(report.DRAIN, about["name"], "cpu_us_per_job")
        if any(cell != NOTHING for cell in cells):
            rows.append((_titled(about), *cells, NOTHING if cpu is None else number(cpu), _given_up(about)))
    if not rows:
        return ""
    heads = ("", *RATES, "CPU µs a job, W3", "gives up")
    return f"## Jobs a second\n\n{RATES_TOLD}\n\n" + _table(heads, rows)


def _given_up(about: dict[str, Any]) -> str:
    keeps = about["keeps"]
    lacks = {
        "durability": not keeps["an_enqueued_job"].startswith("on disk"),
        "jobs of dead workers": "lost with the worker" in keeps["an_enqueued_job"],
        "fence": not keeps["out_a_late_worker"].startswith("yes"),
        "history": not keeps["finished_jobs"].startswith("kept"),
        "results": keeps["results"].startswith(("no", "off")),
    }
    return ", ".join(name for name, is_lacking in lacks.items() if is_lacking) or NOTHING


def _ranged(figures: Figures, workload: str, name: str, *path: str) -> str:
    values = figures.shared(workload, name, *path).values()
    if not values:
        return NOTHING
    median = figures.median(workload, name, *path) or 0
    return f"{number(median)} ({number(min(values))}–{number(max(values))})"


def _pictures(made: Report) -> str:
    drawn = charts(made)
    return "\n\n".join(f"![{CHARTS[file][2]}](../pictures/{file})" for file in drawn)


def _latency(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        cells = [_percentiles(figures, about["name"], kind) for kind in ("start_ms", "visible_ms")]
        if cells[0] != NOTHING:
            rows.append((_titled(about), *cells))
    if not rows:
        return ""
    heads = ("", "to the start of the handler, ms", "until the caller sees the result, ms")
    return f"## Latency of an idle worker\n\n{LATENCY_TOLD}\n\n" + _table(heads, rows)


def _percentiles(figures: Figures, name: str, kind: str) -> str:
    p50 = _ranged(figures, report.LATENCY, name, kind, "p50")
    others = [_median(figures, report.LATENCY, name, kind, cut) for cut in ("p95", "p99")]
    return NOTHING if p50 == NOTHING else " / ".join([p50, *others])


def _idle(made: Report) -> str:
    figures, rows = Figures(made), []
    for about in made["contestants"]:
        names = ("pss_mb", "cpu_percent", "transactions_per_second")
        cells = [_least(figures, about["name"], name) for name in names]
        if any(cell != NOTHING for cell in cells):
            rows.append((_titled(about), *cells))
    if not rows:
        return ""
    heads = ("", "memory (PSS), MB", "processor, %", "transactions a second")
    return f"## A worker with nothing to do\n\n{IDLE_TOLD}\n\n" + _table(heads, rows)


def _least(figures: Figures, name: str, figure: str) -> str:
    value = figures.median(report.IDLE, name, figure)
    if value == 0:
        return f"below {number(report.least_seen(figures, name))}"
    return NOTHING if value is None else number(value)


def _median(figures: Figures, workload: str, name: str, *path: str) -> str:
    value = figures.median(workload, name, *path)
    return NOTHING if value is None else number(value)


def _growth(made: Report) -> str:
    figures = Figures(made)
    names = [name for name in figures.workloads() if name.startswith(report.GROWTH)]
    if not names:
        return ""
    rows = [(name.removeprefix(report.GROWTH), _ranged(figures, name, report.OURS)) for name in names]
    told = [GROWTH_TOLD]
    if gone_by := figures.median(report.SNAPSHOT, report.OURS, "jobs_since_the_snapshot"):
        told.append(
            f"The old snapshot was open while {gone_by:,.0f} jobs went by, one drain before the measured one; "
            "the minutes that they stand for were not waited for."
        )
    return "\n".join(["## As it grows\n", *told, "", _table(("", "jobs a second"), rows)])


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
