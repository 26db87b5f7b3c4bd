"""Promoted fields: columns filled on every way of storing a job, which refuse what does not fit."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest

from backstay.errors import FieldRefused, SchemaMismatch
from backstay.model.job import JobId
from backstay.model.promoted_fields import PromotedColumn, Promotion, References
from backstay.model.promoted_values import FieldType
from backstay.model.records import JobFilter
from backstay.testing.contract.support import HOUR, Store, other_args

ADA = UUID("0190163d-8694-739b-aea5-966c26f8ad91")
VISIT = Promotion(
    "visit",
    "promoted_visits",
    (
        PromotedColumn("note", FieldType.TEXT),
        PromotedColumn("page", FieldType.INTEGER),
        PromotedColumn("weight", FieldType.NUMBER),
        PromotedColumn("urgent", FieldType.BOOLEAN),
        PromotedColumn("seen_at", FieldType.TIMESTAMP),
        PromotedColumn("born", FieldType.DATE),
        PromotedColumn("patient_id", FieldType.UUID),
    ),
)
# How each type is written in JSON, and what is then searched for.
VALUES: list[tuple[str, Any, Any]] = [
    ("note", 'O\'Brien "said" ✓', 'O\'Brien "said" ✓'),
    ("note", "", ""),
    ("page", 7, 7),
    ("page", -(2**63), -(2**63)),
    ("page", 2**63 - 1, 2**63 - 1),
    ("weight", 70.5, 70.5),
    ("weight", 70, 70.0),
    ("urgent", True, True),
    ("urgent", False, False),
    ("seen_at", "2026-05-04T09:30:00Z", datetime(2026, 5, 4, 9, 30, tzinfo=UTC)),
    ("seen_at", "2026-05-04 11:30:00+02:00", datetime(2026, 5, 4, 9, 30, tzinfo=UTC)),
    ("seen_at", "2026-05-04T09:30:00.000001Z", datetime(2026, 5, 4, 9, 30, 0, 1, tzinfo=UTC)),
    ("seen_at", "2026-05-04T09:30:00.25-00:30", datetime(2026, 5, 4, 10, 0, 0, 250_000, tzinfo=UTC)),
    ("seen_at", "1969-12-31T23:59:59.5Z", datetime(1969, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)),
    ("born", "2024-02-29", date(2024, 2, 29)),
    ("patient_id", str(ADA), ADA),
    ("patient_id", str(ADA).upper(), ADA),
    ("patient_id", ADA.hex, ADA),
]
MALFORMED: list[tuple[str, Any]] = [
    ("note", 7),
    ("note", ["a"]),
    ("page", "7"),
    ("page", 7.5),
    ("page", True),
    ("weight", "70.5"),
    ("weight", False),
    ("urgent", 1),
    ("urgent", "true"),
    ("seen_at", "2026-05-04T09:30:00"),
    ("seen_at", "2026-02-30T09:30:00Z"),
    ("seen_at", "2026-05-04T25:30:00Z"),
    ("seen_at", "2026-05-04T09:30:00.5"),
    ("seen_at", "2026-05-04T09:30:00.1234567Z"),
    ("seen_at", "2026-05-04T09:30:00.5x+00:00"),
    ("seen_at", "soon"),
    ("seen_at", 1777887000),
    ("born", "2023-02-29"),
    ("born", "2023-2-9"),
    ("born", "2026-05-04T09:30:00Z"),
    ("patient_id", "0190163d"),
    ("patient_id", "0190163d-8694-739b-aea5-966c26f8ad9g"),
    ("patient_id", "0190163d8694-739b-aea5-966c26f8ad91-"),
    ("patient_id", {"id": str(ADA)}),
]


async def visit(store: Store, **args: Any) -> JobId:
    """Store a job of the kind that promotes."""
    await store.stores.promoted.promote(VISIT)
    return await store.enqueue(kind="visit", args=json.dumps(args))


async def found(store: Store, limit: int = 10, before: JobId | None = None, **values: Any) -> list[JobId]:
    """The jobs with these promoted fields."""
    filters = JobFilter(promoted=values)
    page = await store.stores.promoted.search(VISIT.table, filters, before=before, limit=limit)
    return [job.id for job in page]


async def stored_visits(store: Store) -> int:
    """How many jobs of the kind there are."""
    return len(await store.stores.jobs.search(JobFilter(kind="visit"), before=None, limit=10))


@pytest.mark.parametrize(("field", "written", "sought"), VALUES)
async def test_a_job_is_found_by_its_promoted_field(
    store: Store, field: str, written: Any, sought: Any
) -> None:
    await visit(store, note="another", page=1)

    job_id = await visit(store, **{field: written})

    assert await found(store, **{field: sought}) == [job_id]


@pytest.mark.parametrize(("field", "written"), MALFORMED)
async def test_a_value_that_does_not_fit_is_refused_by_name(store: Store, field: str, written: Any) -> None:
    with pytest.raises(FieldRefused, match=f"'{field}' must") as refused:
        await visit(store, **{"page": 1} | {field: written})

    assert refused.value.field == field
    assert await stored_visits(store) == 0
    assert await found(store, page=1) == []


async def test_a_batch_with_one_bad_value_stores_nothing(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    jobs = [store.new_job(kind="visit", args=json.dumps({"page": page})) for page in (1, 2, "three")]

    with pytest.raises(FieldRefused, match="'page' must be a whole number"):
        await store.stores.enqueuing.enqueue(jobs)

    assert await stored_visits(store) == 0


async def test_absent_and_null_fields_are_empty_columns(store: Store) -> None:
    job_id = await visit(store, note="x", page=None)

    assert await found(store, note="x") == [job_id]
    assert await store.stores.promoted.unfilled(VISIT, newest=100) == []


async def test_jobs_of_other_kinds_promote_nothing(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)

    await store.enqueue(kind="report", args='{"page": "not a number", "note": "x"}')

    assert await found(store, note="x") == []


async def test_a_job_stored_twice_is_found_once(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    job = store.new_job(kind="visit", args='{"page": 7}')

    await store.stores.enqueuing.enqueue([job])
    await store.stores.enqueuing.enqueue([job])

    assert await found(store, page=7) == [job.id]


async def test_other_arguments_for_a_dead_job_are_promoted(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    job_id = await store.dead(kind="visit", args='{"page": 1}')

    await store.stores.dead_letters.retry(
        job_id, actor="ann", reason="wrong page", delay=0 * HOUR, args=other_args('{"page": 2}')
    )

    assert await found(store, page=1) == []
    assert await found(store, page=2) == [job_id]


async def test_a_retry_as_a_new_job_is_promoted(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    job_id = await store.dead(kind="visit", args='{"page": 1}')
    new_id = JobId(store.new_id())

    await store.stores.dead_letters.retry_as_new(
        job_id,
        new_id=new_id,
        actor="ann",
        reason="wrong page",
        delay=0 * HOUR,
        args=other_args('{"page": 2}'),
    )

    assert await found(store, page=1) == [job_id]
    assert await found(store, page=2) == [new_id]


async def test_a_bad_value_in_other_arguments_changes_nothing(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    job_id = await store.dead(kind="visit", args='{"page": 1}')

    with pytest.raises(FieldRefused):
        await store.stores.dead_letters.retry(
            job_id, actor="ann", reason="wrong page", delay=0 * HOUR, args=other_args('{"page": "two"}')
        )

    assert await store.state(job_id) == "dead"
    assert await found(store, page=1) == [job_id]


async def test_a_search_comes_in_pages_newest_first(store: Store) -> None:
    oldest, middle, newest = [await visit(store, page=7, urgent=True) for _ in range(3)]
    await visit(store, page=7, urgent=False)

    assert await found(store, limit=2, page=7, urgent=True) == [newest, middle]
    assert await found(store, limit=2, before=middle, page=7, urgent=True) == [oldest]


async def test_a_search_heeds_the_other_filters(store: Store) -> None:
    job_id = await visit(store, page=7)
    filters = JobFilter(promoted={"page": 7}, queue="default")

    here = await store.stores.promoted.search(VISIT.table, filters, before=None, limit=10)
    elsewhere = await store.stores.promoted.search(
        VISIT.table, replace(filters, queue="elsewhere"), before=None, limit=10
    )

    assert [job.id for job in here] == [job_id]
    assert elsewhere == []


async def test_promoting_twice_makes_nothing_the_second_time(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)

    assert await store.stores.promoted.promote(VISIT) == []
    assert await store.stores.promoted.missing(VISIT) == []
    assert await store.stores.promoted.unfit(VISIT) == []


async def test_what_is_not_promoted_yet_is_named(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    more = replace(VISIT, fields=(*VISIT.fields, PromotedColumn("never_made", FieldType.TEXT)))

    missing = await store.stores.promoted.missing(more)
    unfit = await store.stores.promoted.unfit(more)

    assert "column promoted_visits.never_made" in missing
    assert "column promoted_visits.never_made" in unfit


async def test_fewer_fields_are_filled_after_fewer_are_declared(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    fewer = replace(VISIT, fields=VISIT.fields[:1])

    await store.stores.promoted.promote(fewer)

    await store.enqueue(kind="visit", args='{"note": "x", "page": "anything"}')
    assert len(await found(store, note="x")) == 1
    assert await store.stores.promoted.missing(fewer) == []
    assert await store.stores.promoted.unfit(VISIT) != []


async def test_a_column_cannot_become_something_else(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)
    other = replace(VISIT, kind="other_visit", fields=(PromotedColumn("page", FieldType.TEXT),))

    with pytest.raises(SchemaMismatch, match="page is integer, but 'other_visit' promotes page text"):
        await store.stores.promoted.promote(other)

    await store.enqueue(kind="other_visit", args='{"page": "a"}')
    assert await found(store, page=1) == []


async def test_a_reference_to_a_table_that_is_not_there_is_refused(store: Store) -> None:
    field = PromotedColumn("ghost_id", FieldType.INTEGER, References("ghosts.id"))

    with pytest.raises(SchemaMismatch, match=r"has no ghosts[.]id: make that table first"):
        await store.stores.promoted.promote(Promotion("haunting", VISIT.table, (field,)))


async def test_a_kind_that_promotes_nothing_any_more_is_left_alone(store: Store) -> None:
    await store.stores.promoted.promote(VISIT)

    assert await store.stores.promoted.demote(VISIT) is True
    assert await store.stores.promoted.demote(VISIT) is False

    await store.enqueue(kind="visit", args='{"page": "anything"}')
    assert await stored_visits(store) == 1


async def test_jobs_stored_before_are_found_unfilled_and_are_filled(store: Store) -> None:
    await store.stores.promoted.demote(VISIT)
    before = [await store.enqueue(kind="visit", args=json.dumps({"page": page})) for page in (1, 2, "x", 4)]
    await store.enqueue(kind="report", args='{"page": 1}')
    await store.stores.promoted.promote(VISIT)
    after = await visit(store, page=5)

    unfilled = await store.stores.promoted.unfilled(VISIT, newest=100)
    first = await store.stores.promoted.fill(VISIT, after=UUID(int=0), limit=2)
    assert first.last == before[1]
    second = await store.stores.promoted.fill(VISIT, after=first.last, limit=10)

    assert unfilled == before
    assert (first.filled, first.problems) == (2, {})
    assert (second.filled, list(second.problems), second.last) == (1, [before[2]], None)
    assert "'page' must be a whole number" in second.problems[before[2]]
    assert [await found(store, page=page) for page in (1, 2, 4, 5)] == [
        [before[0]],
        [before[1]],
        [before[3]],
        [after],
    ]
    assert await store.stores.promoted.unfilled(VISIT, newest=100) == [before[2]]


async def test_only_the_newest_jobs_are_looked_at_for_unfilled_ones(store: Store) -> None:
    await store.stores.promoted.demote(VISIT)
    jobs = [await store.enqueue(kind="visit", args='{"page": 1}') for _ in range(3)]
    await store.stores.promoted.promote(VISIT)

    assert await store.stores.promoted.unfilled(VISIT, newest=2) == jobs[1:]
