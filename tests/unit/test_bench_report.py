"""What the benchmark makes of its runs."""

from __future__ import annotations

from typing import Any

import pytest
from bench import charts, page, report
from bench.contestants import ALL, chosen
from bench.run import without_places

PROMISED = {
    "drain_pg_vs_bare_loop",
    "drain_pg_vs_best_peer",
    "drain_pg_vs_best_python_peer",
    "drain_pg_two_processes_vs_one",
    "drain_sqlite_vs_huey_sqlite",
    "enqueue_one_vs_bare_insert",
    "enqueue_100_callers_vs_best_peer",
    "enqueue_many_vs_bare_unnest",
    "latency_p50_best_pg_peer_vs_ours",
    "drain_5m_finished_vs_empty",
    "drain_1m_scheduled_vs_empty",
    "drain_old_snapshot_vs_without",
    "drain_8_processes_vs_best_n",
    "idle_transactions_per_second_and_worker",
    "idle_worker_rss_mb",
}


def contestant(
    name: str, *, role: str = "peer", language: str = "python", store: str = "postgres"
) -> dict[str, Any]:
    keeps = {"an_enqueued_job": "on disk", "out_a_late_worker": "no", "finished_jobs": "no", "results": "no"}
    about = {"name": name, "role": role, "language": language, "store": store, "keeps": keeps}
    return {**about, "settings": "s", "versions": {"python": "3"}, "remark": "", "done": "when stored"}


CONTESTANTS = [
    contestant("bare loop 100", role="limit"),
    contestant("bare loop 500", role="limit"),
    contestant(report.OURS, role="ours"),
    contestant(report.OURS_SQLITE, role="ours", store="sqlite"),
    contestant("pgqueuer"),
    contestant("pg-boss", language="node"),
    contestant("huey sqlite", store="sqlite"),
    contestant("bullmq", language="node", store="redis"),
]


def a_report(*runs: dict[str, Any], rounds: int = 9) -> report.Report:
    return {"contestants": CONTESTANTS, "runs": list(runs), "settings": {"rounds": rounds}}


def rates(workload: str, **by_name: tuple[float, ...]) -> list[dict[str, Any]]:
    """Runs of one workload: a rate for each round."""
    return [
        {"workload": workload, "contestant": name, "round": number, "rate": rate}
        for name, values in by_name.items()
        for number, rate in enumerate(values)
    ]


def idle(**by_name: dict[str, float]) -> list[dict[str, Any]]:
    """What each used while it had nothing to do."""
    return [
        {"workload": report.IDLE, "contestant": name, "round": 0, **used} for name, used in by_name.items()
    ]


def test_all_are_compared_by_the_rounds_that_all_took_part_in() -> None:
    """The machine was half as quick when only the compared were run once more."""
    runs = rates(
        report.ONE, **{report.OURS: (100, 110, 50, 50, 50), "pgqueuer": (80, 90), "bullmq": (120, 130)}
    )
    made = a_report(*runs, rounds=2)

    assert report.ahead_of(made, report.OURS, report.is_peer) == [report.Ahead(report.ONE, "bullmq", 1.19)]
    assert report.summary(made)[report.ONE][report.OURS] == {
        "median": 105,
        "low": 100,
        "high": 110,
        "rounds": 2,
    }


def test_the_rounds_of_an_earlier_run_are_its_own() -> None:
    made = a_report(*rates(report.ONE, **{report.OURS: (100, 110, 50)}), rounds=3)
    made["earlier"] = [{"settings": {"rounds": 2}, "workloads": [report.ONE]}]

    assert report.summary(made)[report.ONE][report.OURS]["median"] == 105


def test_a_report_has_exactly_the_promised_figures() -> None:
    assert set(report.ratios(a_report())) == PROMISED
    assert set(report.AT_LEAST) | set(report.AT_MOST) == PROMISED


def test_what_was_not_run_has_no_ratio() -> None:
    assert set(report.ratios(a_report()).values()) == {None}


def test_a_ratio_is_the_median_of_the_ratios_of_the_rounds() -> None:
    # The machine was half as quick in the second round, for both.
    runs = rates(report.ONE, **{report.OURS: (900, 450, 800), report.BARE: (1000, 500, 1000)})

    assert report.ratios(a_report(*runs))["enqueue_one_vs_bare_insert"] == 0.9


def test_we_are_held_against_the_best_batch_of_the_bare_loop_and_the_best_peer() -> None:
    runs = rates(
        report.DRAIN,
        **{
            report.OURS: (3000,),
            "bare loop 100": (2000,),
            "bare loop 500": (4000,),
            "pgqueuer": (1000,),
            "pg-boss": (1500,),
            "bullmq": (2000,),
            report.OURS_SQLITE: (800,),
            "huey sqlite": (100,),
        },
    )

    found = report.ratios(a_report(*runs))

    assert found["drain_pg_vs_bare_loop"] == 0.75
    assert found["drain_pg_vs_best_peer"] == 1.5
    assert found["drain_pg_vs_best_python_peer"] == 3
    assert found["drain_sqlite_vs_huey_sqlite"] == 8


def test_what_is_compared_is_known_by_workload_and_contestant() -> None:
    runs = rates(
        report.DRAIN, **{report.OURS: (3,), "bare loop 100": (2,), "bare loop 500": (4,), "bullmq": (2,)}
    )

    compared = report.compared(a_report(*runs))

    assert (report.DRAIN, "bare loop 500") in compared
    assert (report.DRAIN, "bullmq") in compared
    assert (report.DRAIN, "bare loop 100") not in compared
    assert (report.DRAIN_TWO, report.OURS) in compared


def test_the_bare_loop_is_put_in_our_place_where_it_does_the_same() -> None:
    runs = [
        *rates(report.DRAIN, **{report.OURS: (30,), report.BARE: (40,), "bullmq": (20,)}),
        *rates(report.TOGETHER, **{report.OURS: (30,), report.BARE: (60,), "bullmq": (20,)}),
        *rates(report.EMPTY, **{report.OURS: (30,)}),
    ]

    found = report.ratios_of_the_bare_loop(a_report(*runs))

    assert found == {"drain_pg_vs_best_peer": 2, "enqueue_100_callers_vs_best_peer": 3}


def test_latency_is_compared_with_the_quickest_peer_on_postgresql_alone() -> None:
    runs = [
        {"workload": report.LATENCY, "contestant": name, "round": 0, "start_ms": {"p50": p50}}
        for name, p50 in {report.OURS: 2.0, "pgqueuer": 4.0, "pg-boss": 3.0, "bullmq": 1.0}.items()
    ]

    assert report.ratios(a_report(*runs))["latency_p50_best_pg_peer_vs_ours"] == 1.5


def test_growth_counts_only_with_as_many_rows_as_promised() -> None:
    few = rates(report.EMPTY, **{report.OURS: (100,)}) + rates("W6 10000 finished", **{report.OURS: (99,)})
    many = rates(report.EMPTY, **{report.OURS: (100,)}) + rates(report.FINISHED, **{report.OURS: (95,)})

    assert report.ratios(a_report(*few))["drain_5m_finished_vs_empty"] is None
    assert report.ratios(a_report(*many))["drain_5m_finished_vs_empty"] == 0.95


def test_eight_processes_are_compared_with_the_best_number() -> None:
    runs = rates(report.processes(2), **{report.OURS: (200,)}) + rates(
        report.processes(8), **{report.OURS: (150,)}
    )

    assert report.ratios(a_report(*runs))["drain_8_processes_vs_best_n"] == 0.75


def test_a_run_that_failed_counts_for_nothing() -> None:
    runs = rates(report.ONE, **{report.OURS: (900,), report.BARE: (1000,)})
    runs.append({"workload": report.ONE, "contestant": report.OURS, "round": 1, "error": "it ended"})

    assert report.ratios(a_report(*runs))["enqueue_one_vs_bare_insert"] == 0.9


def test_what_is_missed_is_told() -> None:
    found = dict.fromkeys(PROMISED) | {"drain_pg_vs_bare_loop": 0.8, "idle_worker_rss_mb": 51.0}

    assert report.missed(found) == ["drain_pg_vs_bare_loop", "idle_worker_rss_mb"]


def test_the_page_says_where_a_peer_is_ahead() -> None:
    runs = rates(report.ONE, **{report.OURS: (1000,), "bullmq": (2500,), "pgqueuer": (900,)})

    ahead = report.ahead_of(a_report(*runs), report.OURS, report.is_peer)

    assert ahead == [report.Ahead(report.ONE, "bullmq", 2.5)]


def test_on_sqlite_we_are_compared_with_the_peers_on_sqlite() -> None:
    runs = rates(report.ONE, **{report.OURS_SQLITE: (1000,), "bullmq": (2500,), "huey sqlite": (2000,)})

    ahead = report.ahead_of(a_report(*runs), report.OURS_SQLITE, report.is_sqlite_peer)

    assert ahead == [report.Ahead(report.ONE, "huey sqlite", 2.0)]


def test_a_peer_that_uses_too_little_to_be_measured_is_ahead_by_more_than_that() -> None:
    runs = idle(**{report.OURS: {"cpu_percent": 0.15}, "bullmq": {"cpu_percent": 0.0}, "pgqueuer": {}})
    coarse = idle(**{report.OURS: {"cpu_percent": 0.8}, "bullmq": {"cpu_percent": 0.0, "least_seen": 0.2}})
    what = f"{report.IDLE}, cpu_percent"

    fine, rough = (report.ahead_of(a_report(*some), report.OURS, report.is_peer) for some in (runs, coarse))

    assert fine == [report.Ahead(what, "bullmq", 3.0, below=0.05)]
    assert rough == [report.Ahead(what, "bullmq", 4.0, below=0.2)]


def test_nobody_is_ahead_of_what_cannot_be_measured() -> None:
    runs = idle(**{name: {"cpu_percent": 0.0} for name in (report.OURS, "bullmq")})

    assert report.ahead_of(a_report(*runs), report.OURS, report.is_peer) == []


def test_memory_is_compared_by_shares_and_promised_by_what_is_resident() -> None:
    runs = idle(**{report.OURS: {"pss_mb": 30.0, "rss_mb": 46.0}, "bullmq": {"pss_mb": 20.0, "rss_mb": 90.0}})

    assert report.ratios(a_report(*runs))["idle_worker_rss_mb"] == 46.0
    assert report.ahead_of(a_report(*runs), report.OURS, report.is_peer) == [
        report.Ahead(f"{report.IDLE}, pss_mb", "bullmq", 1.5)
    ]


def test_a_later_run_replaces_whole_workloads_and_keeps_the_others() -> None:
    about = {"made": {}, "machine": {}, "settings": {}}
    last = {**about, **a_report(*rates(report.ONE, bullmq=(1,)), *rates(report.MANY, bullmq=(2,)))}
    new = {**about, **a_report(*rates(report.MANY, bullmq=(3,)))}

    both = report.added(last, new)

    assert both["summary"][report.ONE]["bullmq"]["median"] == 1
    assert both["summary"][report.MANY]["bullmq"]["median"] == 3


def test_what_was_kept_of_earlier_runs_is_told_with_their_day() -> None:
    first = printable(*rates(report.ONE, bullmq=(1,)), *rates(report.MANY, bullmq=(2,)), day="2026-01-01")
    second = printable(*rates(report.MANY, bullmq=(3,)), *rates(report.DRAIN, bullmq=(4,)), day="2026-01-02")
    third = printable(*rates(report.DRAIN, bullmq=(5,)), day="2026-01-03")

    written = page.page(report.added(report.added(first, second), third))

    assert "Measured on 2026-01-03 in 3 rounds" in written
    assert f"Of a run of 2026-01-01 in 3 rounds, at commit `x`: {report.ONE}." in written
    assert f"Of a run of 2026-01-02 in 3 rounds, at commit `x`: {report.MANY}." in written


def test_a_chart_shows_every_bar_and_escapes_names() -> None:
    drawn = charts.chart("a & b", [charts.Bar("x<y", "peer", 10, 5, 20)], unit="jobs/s")

    assert "a &amp; b" in drawn
    assert "x&lt;y" in drawn
    assert "10.0 jobs/s" in drawn


def test_every_contestant_says_what_it_keeps_and_how_it_is_set_up() -> None:
    told = [(one.settings, one.keeps.an_enqueued_job, one.keeps.out_a_late_worker) for one in ALL]

    assert all(all(texts) for texts in told)
    assert len({one.name for one in ALL}) == len(ALL)


def test_an_unknown_peer_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SystemExit, match=r"'sidekiq'; there are .*pgqueuer"):
        chosen("sidekiq")


def test_reasons_do_not_carry_the_addresses_and_folders_of_a_machine() -> None:
    told = without_places("no such file /home/ada/.cache/x.log, see https://example.org/help and ask")

    assert told == "no such file …, see … and ask"


def printable(*runs: dict[str, Any], day: str = "2026-01-01") -> report.Report:
    """A report with all that the page needs."""
    machine = dict.fromkeys(("cores", "processor", "system", "python", "postgres", "redis", "commit"), "x")
    settings = {"rounds": 3, "short": False, "redis": {"save": ""}, "postgres": {"fsync": "on"}}
    made = {**a_report(*runs), "made": {"at": f"{day}T00:00:00"}, "settings": settings}
    return {**made, "machine": {**machine, "memory_gb": 8.0}, "ratios": report.ratios(made)}


def test_the_tables_of_the_page_have_a_row_for_each_who_was_measured() -> None:
    written = page.page(printable(*rates(report.ONE, **{report.OURS: (1000, 1200), "bullmq": (2500,)})))

    assert "| **backstay postgres** | 1,100 (1,000–1,200) |" in written
    assert "| bullmq, Redis | 2,500 (2,500–2,500) |" in written
    assert f"| {report.ONE} | bullmq | 2.27 × | on disk |" in written


def test_the_page_tells_the_range_of_a_ratio_and_what_each_gives_up() -> None:
    bare, ours = {"bare loop 500": (100.0, 100.0, 200.0)}, {report.OURS: (50.0, 80.0, 120.0)}
    made = printable(*rates(report.DRAIN, **bare, **ours))

    told = page.page(made)

    assert "| `drain_pg_vs_bare_loop` | 0.6 (0.50–0.80) |" in told
    [row] = [line for line in told.splitlines() if line.startswith("| bare loop 500") and "100" in line]
    assert row.endswith("| fence, history, results |")


def test_the_page_has_a_list_for_each_of_our_databases() -> None:
    runs = rates(report.ONE, **{report.OURS: (1000,), report.OURS_SQLITE: (500,), "huey sqlite": (750,)})

    _, on_postgres, on_sqlite = page.page(printable(*runs)).split("Of Backstay on ")

    assert on_postgres == "PostgreSQL, all peers that were measured:\n\nnowhere.\n\n"
    assert f"| {report.ONE} | huey sqlite | 1.5 × |" in on_sqlite


def test_latency_has_the_range_of_its_rounds() -> None:
    runs = [
        {"workload": report.LATENCY, "contestant": report.OURS, "round": number}
        | {"start_ms": {"p50": p50, "p95": 10.0 * p50, "p99": 100.0 * p50}}
        for number, p50 in enumerate((2.0, 3.0, 7.0))
    ]

    assert "| **backstay postgres** | 3.00 (2.00–7.00) / 30.0 / 300 | – |" in page.page(printable(*runs))


def test_what_is_too_little_to_be_measured_is_not_called_nothing() -> None:
    ours, theirs = {"pss_mb": 30.0, "cpu_percent": 0.15}, {"pss_mb": 80.0, "cpu_percent": 0.0}

    written = page.page(printable(*idle(**{report.OURS: ours, "bullmq": theirs})))

    assert "| bullmq, Redis | 80.0 | below 0.05 | – |" in written
    assert f"| {report.IDLE}, cpu_percent | bullmq | more than 3.0 ×: below 0.05 % | on disk |" in written


def test_an_old_report_without_shares_of_memory_still_has_its_other_figures() -> None:
    written = page.page(printable(*idle(bullmq={"rss_mb": 80.0, "cpu_percent": 0.1})))

    assert "| bullmq, Redis | – | 0.10 | – |" in written


def test_the_page_says_that_a_job_that_fails_is_not_tried_again() -> None:
    runs = rates(report.SNAPSHOT, **{report.OURS: (100,)}) + rates(
        "W6 one in ten fails", **{report.OURS: (90,)}
    )

    written = page.page(printable(*({**run, "jobs_since_the_snapshot": 1200} for run in runs)))

    assert "no retry is measured" in written
    assert "open while 1,200 jobs went by" in written
