"""The harness of the benchmark and an adapter, talking as they do in a real run, with small counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from bench import workloads
from bench.contestants import OURS, bare
from bench.install import install
from bench.session import ContestantFailed, Session
from bench.workloads import Scale

from backstay.testing import PrivatePostgres

SMALL = Scale(seconds=0.05, callers=5, latency_jobs=5, latency_seconds=5, patience=60)
ON_SQLITE = next(contestant for contestant in OURS if contestant.store == "sqlite")


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "data").mkdir()
    with Session(ON_SQLITE, install(ON_SQLITE), f"sqlite:///{tmp_path}/data/jobs.db") as opened:
        yield opened


@pytest.fixture
def bare_session(postgres_server: PrivatePostgres) -> Iterator[Session]:
    postgres_server.create_database("bench_bare")
    with Session(bare(500), install(bare(500)), postgres_server.url("bench_bare")) as opened:
        yield opened


def test_the_bare_loop_does_what_it_is_a_limit_of(bare_session: Session) -> None:
    together = workloads.enqueue_together(bare_session, replace(SMALL, callers=100))
    stored = bare_session.ask("remaining")["jobs"]
    bare_session.ask("empty")
    drained = workloads.drain(bare_session, SMALL, processes=1, jobs=2000)
    latency = workloads.latency(bare_session, SMALL)

    assert stored == together["jobs"] + 1
    assert drained["jobs"] == 2000
    assert latency["start_ms"]["jobs"] == 5
    assert bare_session.ask("remaining") == {"jobs": 0}


def test_an_adapter_says_what_it_is_and_what_it_can(session: Session) -> None:
    assert {"backstay", "python"} <= set(session.about["versions"])
    assert (session.about["bulk"], session.about["results"], session.about["counts"]) == (True, True, True)


def test_jobs_are_enqueued_in_every_way_counted_and_forgotten(session: Session) -> None:
    one = workloads.enqueue_one(session, SMALL)
    together = workloads.enqueue_together(session, SMALL)
    many = workloads.enqueue_many(session, SMALL)
    stored = session.ask("remaining")["jobs"]
    session.ask("empty")

    # Each workload stores a first job, or a first thousand, before the clock runs.
    assert stored == one["jobs"] + 1 + together["jobs"] + 1 + many["jobs"] + 1000
    assert session.ask("remaining") == {"jobs": 0}


def test_a_backlog_is_drained_by_real_workers_until_nothing_is_left(session: Session) -> None:
    figures = workloads.drain(session, SMALL, processes=1, jobs=500)

    assert figures["jobs"] == 500
    assert figures["rate"] > 0
    assert session.ask("remaining") == {"jobs": 0}


def test_handlers_tell_when_they_started_and_callers_when_they_saw_the_result(session: Session) -> None:
    figures = workloads.latency(session, SMALL)

    assert figures["start_ms"]["jobs"] == 5
    assert figures["visible_ms"]["jobs"] == 5
    assert figures["start_ms"]["p50"] > 0
    assert figures["visible_ms"]["p50"] > 0


def test_an_idle_worker_is_measured_by_its_share_and_by_its_largest_process(session: Session) -> None:
    scale = Scale(idle_seconds=0.5, idle_settling_seconds=0, patience=60)

    figures = workloads.idle([session], scale)[ON_SQLITE.name]

    assert 0 < figures["pss_mb"] <= figures["rss_mb"]
    assert 0 < figures["least_seen"] <= 2
    assert "transactions_per_second" not in figures


def test_an_adapter_that_fails_is_told_with_its_last_words(session: Session) -> None:
    with pytest.raises(ContestantFailed, match=r"backstay sqlite ended at 'fill'.*KeyError: 'unheard-of'"):
        session.ask("fill", jobs=1, variant="unheard-of")
