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


def a_report(*runs: dict[str, Any]) -> report.Report:
    return {"contestants": CONTESTANTS, "runs": list(runs)}


def rates(workload: str, **by_name: tuple[float, ...]) -> list[dict[str, Any]]:
    """Runs of one workload: a rate for each round."""
    return [
        {"workload": workload, "contestant": name, "round": number, "rate": rate}
        for name, values in by_name.items()
        for number, rate in enumerate(values)
    ]


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

    ahead = report.ahead_of_us(a_report(*runs))

    assert ahead == [(report.ONE, "bullmq", 2.5)]


def test_a_later_run_replaces_whole_workloads_and_keeps_the_others() -> None:
    about = {"made": {}, "machine": {}, "settings": {}}
    last = {**about, **a_report(*rates(report.ONE, bullmq=(1,)), *rates(report.MANY, bullmq=(2,)))}
    new = {**about, **a_report(*rates(report.MANY, bullmq=(3,)))}

    both = report.added(last, new)

    assert both["summary"][report.ONE]["bullmq"]["median"] == 1
    assert both["summary"][report.MANY]["bullmq"]["median"] == 3


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


def test_the_tables_of_the_page_have_a_row_for_each_who_was_measured() -> None:
    made = a_report(*rates(report.ONE, **{report.OURS: (1000, 1200), "bullmq": (2500,)}))
    growth = {"snapshot_minutes": 10, "snapshot_rate": 200}
    machine = dict.fromkeys(("cores", "processor", "system", "python", "postgres", "redis", "commit"), "x")
    made |= {"made": {"at": "2026-01-01T00:00:00"}, "machine": {**machine, "memory_gb": 8.0}}
    made |= {
        "settings": {
            "rounds": 2,
            "short": False,
            "redis": {"save": ""},
            "postgres": {"fsync": "on"},
            "growth": growth,
        }
    }
    made |= {"ratios": report.ratios(made)}

    written = page.page(made)

    assert "| **windlass postgres** | 1,100 (1,000–1,200) |" in written
    assert "| bullmq, Redis | 2,500 (2,500–2,500) |" in written
    assert f"| {report.ONE} | bullmq | 2.27 × | on disk |" in written
