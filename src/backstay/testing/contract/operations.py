"""Operations: stored actions on many jobs, taken by one at a time, advanced only by who has taken them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from backstay.model.operations import (
    Advance,
    Mark,
    OperationStatus,
    TakenOperation,
    Verb,
    job_target,
    letter_target,
)
from backstay.model.records import DeadLetterFilter, JobFilter, LetterMark
from backstay.stores.contract.operations import Operations
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store


def _operations(store: Store) -> Operations:
    return store.stores.service.operations


async def _started(store: Store, **given: Any) -> UUID:
    operation_id = store.new_id()
    facts = {
        "tenant": "acme",
        "name": "retry all",
        "verb": Verb.RETRY,
        "target": letter_target(DeadLetterFilter(kind="report"), store.now()),
        "reason": "fixed",
        "pace": 10.0,
        "total": 4,
        "actor": "ann",
        **given,
    }
    await _operations(store).start(operation_id, **facts)
    return operation_id


async def _taken(store: Store) -> TakenOperation:
    taken = await _operations(store).take(hold=MINUTE)
    assert taken is not None
    return taken


async def test_what_was_started_is_kept_whole_and_audited(store: Store) -> None:
    """ENG-027: who, when, why, and which jobs."""
    operation_id = await _started(store)

    [found] = await _operations(store).all(tenant="acme", limit=10)
    assert found == await _operations(store).get(operation_id)
    assert (found.name, found.verb, found.reason, found.pace) == ("retry all", Verb.RETRY, "fixed", 10.0)
    assert (found.status, found.total, found.done) == (OperationStatus.RUNNING, 4, 0)
    assert (found.started_by, found.started_at, found.filters) == ("ann", store.now(), {"kind": "report"})
    assert await _operations(store).all(tenant="globex", limit=10) == []


async def test_targets_and_marks_come_back_as_they_were(store: Store) -> None:
    letter = LetterMark(store.now(), (await store.enqueue()))
    filters = JobFilter(tag="urgent", parent_id=letter.job_id, created_from=store.now())
    target = job_target(filters, None, store.now() + HOUR)
    await _started(store, verb=Verb.CANCEL, target=target)

    taken = await _taken(store)
    mark = Mark(letter=letter, before=letter.job_id)
    await _operations(store).advance(taken, Advance(1, 0, None, mark, is_over=False), pause=SECOND)
    store.later(SECOND)
    again = await _taken(store)

    assert (taken.target, taken.mark) == (target, Mark())
    assert (again.target, again.mark, again.operation.done) == (target, mark, 1)


async def test_one_at_a_time_works_on_an_operation_and_who_was_slow_writes_nothing(store: Store) -> None:
    operation_id = await _started(store)
    slow = await _taken(store)
    assert await _operations(store).take(hold=MINUTE) is None
    store.later(MINUTE)

    quick = await _taken(store)

    step = Advance(2, 1, "it was decided", Mark(), is_over=False)
    assert not await _operations(store).advance(slow, step, pause=SECOND)
    assert await _operations(store).advance(quick, step, pause=SECOND)
    found = await _operations(store).get(operation_id)
    assert found is not None
    assert (found.done, found.skipped, found.problem) == (2, 1, "it was decided")


async def test_the_next_step_is_due_after_the_pause(store: Store) -> None:
    await _started(store)
    taken = await _taken(store)
    await _operations(store).advance(taken, Advance(1, 0, None, Mark(), is_over=False), pause=MINUTE)

    assert await _operations(store).take(hold=MINUTE) is None
    assert await _operations(store).next_due() == MINUTE
    store.later(MINUTE)
    assert await _operations(store).take(hold=MINUTE) is not None


async def test_a_stopped_operation_ends_with_the_step_under_way(store: Store) -> None:
    operation_id = await _started(store)
    taken = await _taken(store)

    assert await _operations(store).stop(operation_id, actor="ben")
    assert not await _operations(store).stop(operation_id, actor="ben")
    await _operations(store).advance(taken, Advance(1, 0, None, Mark(), is_over=False), pause=SECOND)

    found = await _operations(store).get(operation_id)
    assert found is not None
    assert (found.status, found.done, found.stopped_by) == (OperationStatus.STOPPED, 1, "ben")
    assert found.ended_at == store.now()
    assert await _operations(store).next_due() is None


async def test_the_regular_look_tells_of_operations_and_old_ones_are_forgotten(store: Store) -> None:
    operation_id = await _started(store)
    await store.register()
    assert await _looks(store)
    taken = await _taken(store)
    await _operations(store).advance(taken, Advance(4, 0, None, Mark(), is_over=True), pause=SECOND)

    assert not await _looks(store)
    await _operations(store).forget(keep=HOUR)
    assert await _operations(store).get(operation_id) is not None
    store.later(2 * HOUR)
    await _operations(store).forget(keep=HOUR)
    assert await _operations(store).get(operation_id) is None


async def _looks(store: Store) -> bool:
    from backstay.model.records import Vitals

    tick = await store.stores.workers.tick("w", vitals=Vitals(), lease=HOUR, overrun=SECOND)
    assert tick.look is not None
    return tick.look.has_operations
