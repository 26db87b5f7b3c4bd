"""Lines about jobs: one by one while they are few, as sums while they are many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.model.job import Claim, JobId
from backstay.runtime.env import SYSTEM
from backstay.worker.job_lines import MOST, JobLines

ProgressMessage = list[tuple[str, dict[str, Any]]]


def claim(number: int, tenant: str = "") -> Claim:
    return Claim(
        id=JobId(UUID(int=number)),
        epoch=1,
        kind="send",
        queue="mail",
        args="{}",
        attempt=1,
        max_attempts=3,
        run=1,
        crashes=0,
        is_suspect=False,
        timeout=timedelta(seconds=1),
        lease=timedelta(seconds=1),
        tenant=tenant,
    )


def lines() -> tuple[JobLines, ProgressMessage]:
    told: ProgressMessage = []

    def emit(event: str, /, **facts: Any) -> None:
        told.append((event, facts))

    return JobLines(emit, SYSTEM), told


def test_a_job_is_told_when_it_starts_and_when_its_end_is_stored() -> None:
    of_jobs, told = lines()
    of_jobs.started(claim(1, tenant="acme"))
    of_jobs.took(claim(1), 0.0125)
    before = list(told)
    of_jobs.stored([claim(1)])

    facts = {"job_id": str(UUID(int=1)), "kind": "send", "attempt": 1}
    assert before == [("job.started", {**facts, "tenant": "acme"})]
    assert told[1:] == [("job.completed", {**facts, "took_ms": 12.5})]


def test_many_jobs_are_told_as_a_sum() -> None:
    of_jobs, told = lines()
    claims = [claim(number) for number in range(MOST + 1000)]
    for each in claims:
        of_jobs.started(each)
        of_jobs.took(each, 0.001)
    of_jobs.stored(claims)
    of_jobs.sum_up()

    assert [event for event, _ in told].count("job.started") == MOST
    assert [event for event, _ in told].count("job.completed") == MOST
    assert told[-2:] == [("jobs.started", {"jobs": 1000}), ("jobs.completed", {"jobs": 1000})]


def test_after_a_sum_jobs_are_told_one_by_one_again() -> None:
    of_jobs, told = lines()
    of_jobs.stored(claim(number) for number in range(MOST + 1))
    of_jobs.sum_up()
    told.clear()
    of_jobs.stored([claim(99)])
    of_jobs.sum_up()

    assert [event for event, _ in told] == ["job.completed"]
