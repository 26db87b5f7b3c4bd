"""Failures: causes of death over time, those that were decided about as well."""

from __future__ import annotations

from datetime import datetime

from backstay.model.failures import Failure, failure_of
from backstay.stores.contract.failures import Failures
from backstay.testing.contract.support import DAY, HOUR, MINUTE, Store


def _store(store: Store) -> Failures:
    return store.stores.service.failures


async def _failures(store: Store, *, since: datetime, tenant: str | None = None) -> list[Failure]:
    nothing: dict[int, int] = {}
    narrowed = {"kind": None, "queue": None, "tenant": tenant}
    counts = await _store(store).causes(since=since, limit=10, **narrowed)
    names = [count.fingerprint for count in counts]
    hours = await _store(store).hours(names, since=since, **narrowed)
    found = []
    for count in counts:
        history = await _store(store).history(count.fingerprint, tenant=tenant)
        assert history is not None
        of_it = hours.get(count.fingerprint, nothing)
        found.append(failure_of(count, history, of_it, since=since, until=store.now()))
    return found


async def test_deaths_of_one_cause_are_counted_by_the_hour(store: Store) -> None:
    since = store.now()
    await store.dead()
    store.later(HOUR)
    await store.dead()
    last = await store.dead()
    store.later(2 * HOUR)

    [failure] = await _failures(store, since=since)

    assert (failure.deaths, failure.open_letters, failure.hours) == (3, 3, (1, 2, 0, 0))
    assert (failure.kind, failure.error_type, failure.message) == ("report", "ValueError", "boom")
    assert failure.job_id == last
    assert (failure.first_died_at, failure.last_died_at) == (since, since + HOUR)


async def test_a_cause_is_new_while_its_first_death_is_in_the_time_asked_for(store: Store) -> None:
    begun = store.now()
    await store.dead()
    store.later(DAY)
    await store.dead()

    [lately] = await _failures(store, since=begun + HOUR)
    [ever] = await _failures(store, since=begun)

    assert (lately.deaths, lately.is_new) == (1, False)
    assert (ever.deaths, ever.is_new) == (2, True)


async def test_a_cause_that_strikes_after_it_was_resolved_or_closed_has_regressed(store: Store) -> None:
    since = store.now()
    await store.resolve(await store.dead())
    [resolved] = await _failures(store, since=since)
    store.later(MINUTE)
    await store.dead()
    [back] = await _failures(store, since=since)
    store.later(MINUTE)
    await _store(store).note(
        back.fingerprint, tenant="", owner=None, closes=True, reason="a new release", actor="ann"
    )
    [closed] = await _failures(store, since=since)
    store.later(MINUTE)
    await store.dead()
    [again] = await _failures(store, since=since)

    assert [one.is_regressed for one in (resolved, back, closed, again)] == [False, True, False, True]
    assert (again.deaths, again.open_letters) == (3, 2)


async def test_an_owner_stays_whatever_else_is_noted(store: Store) -> None:
    since = store.now()
    await store.dead()
    [failure] = await _failures(store, since=since)
    for owner, closes in (("ann", False), (None, True)):
        await _store(store).note(
            failure.fingerprint, tenant="", owner=owner, closes=closes, reason="because", actor="ben"
        )

    [owned] = await _failures(store, since=since)

    assert owned.owner == "ann"


async def test_a_tenant_sees_its_own_deaths_and_notes_alone(store: Store) -> None:
    since = store.now()
    await store.dead(tenant="acme")
    await store.dead(tenant="globex")
    [failure] = await _failures(store, since=since, tenant="acme")
    await _store(store).note(
        failure.fingerprint, tenant="acme", owner="ann", closes=False, reason=None, actor="ann"
    )

    [ours] = await _failures(store, since=since, tenant="acme")
    [theirs] = await _failures(store, since=since, tenant="globex")
    [all_of_them] = await _failures(store, since=since)

    assert [(one.deaths, one.owner) for one in (ours, theirs, all_of_them)] == [
        (1, "ann"),
        (1, None),
        (2, None),
    ]
    assert await _store(store).history("nothing", tenant=None) is None
