"""Open dead letters by their cause: grouped, counted by the hour, and known again when they come back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from backstay.model.job import JobId
from backstay.model.outcome import Fail
from backstay.testing.contract.support import BOOM, DAY, HOUR, MINUTE, Store
from backstay.testing.contract.triage import letter_of


async def died_of(store: Store, message: str, **options: Any) -> JobId:
    """A job that died with this message."""
    claim = await store.claimed(**options)
    await store.end(claim, Fail(replace(BOOM, message=message), hopeless=True))
    return claim.id


async def test_deaths_that_differ_in_particulars_have_one_cause(store: Store) -> None:
    """ENG-072."""
    first_died_at = store.now()
    await died_of(store, "order 17 has no address")
    store.later(MINUTE)
    other = await died_of(store, "the warehouse does not answer")
    store.later(MINUTE)
    newest = await died_of(store, "order 2048 has no address")

    often, once = await store.stores.dead_letters.groups(
        kind=None, queue=None, tenant=None, limit=10, most=100
    )

    assert (often.kind, often.error_type, often.letters) == ("report", "ValueError", 2)
    assert (often.message, often.job_id) == ("order 2048 has no address", newest)
    assert (often.first_died_at, often.last_died_at) == (first_died_at, store.now())
    assert (once.letters, once.job_id) == (1, other)


async def test_a_group_is_listed_by_its_fingerprint(store: Store) -> None:
    order = await died_of(store, "order 17 has no address")
    await died_of(store, "the warehouse does not answer")
    cause = (await letter_of(store, order)).fingerprint

    letters = await store.stores.dead_letters.open(
        kind=None, queue=None, tenant=None, fingerprint=cause, limit=10
    )

    assert [letter.job_id for letter in letters] == [order]


async def test_groups_can_be_narrowed_and_show_no_example_from_elsewhere(store: Store) -> None:
    acme = await died_of(store, "order 1", tenant="acme")
    store.later(MINUTE)
    await died_of(store, "order 2", tenant="other")
    mail = await died_of(store, "order 3", queue="mail")
    welcome = await died_of(store, "order 4", kind="welcome")

    async def found(**narrowed: str | None) -> list[tuple[int, JobId]]:
        asked = {"kind": None, "queue": None, "tenant": None, **narrowed}
        groups = await store.stores.dead_letters.groups(**asked, limit=10, most=100)
        return [(group.letters, group.job_id) for group in groups]

    assert await found(tenant="acme") == [(1, acme)]
    assert await found(queue="mail") == [(1, mail)]
    assert await found(kind="welcome") == [(1, welcome)]


async def test_the_letters_of_a_cause_are_counted_up_to_a_limit(store: Store) -> None:
    newest = [await died_of(store, f"order {number} has no address") for number in range(4)][-1]
    rare = await died_of(store, "the warehouse does not answer")

    groups = await store.stores.dead_letters.groups(kind=None, queue=None, tenant=None, limit=10, most=3)

    assert [(group.letters, group.is_capped, group.job_id) for group in groups] == [
        (3, True, newest),
        (1, False, rare),
    ]


async def test_open_letters_are_listed_by_who_looks_into_them(store: Store) -> None:
    new, taken = await store.dead(), await store.dead()
    await store.investigate(taken)
    [owner] = {(await letter_of(store, taken)).owner}

    async def found(owner: str | None) -> set[JobId]:
        letters = await store.stores.dead_letters.open(
            kind=None, queue=None, tenant=None, owner=owner, limit=10
        )
        return {letter.job_id for letter in letters}

    assert await found(None) == {new, taken}
    assert await found("") == {new}
    assert await found(owner) == {taken}
    assert await found("somebody else") == set()


async def test_open_letters_are_counted_by_cause_and_hour(store: Store) -> None:
    old = await died_of(store, "order 1 has no address")
    cause = (await letter_of(store, old)).fingerprint
    store.later(2 * DAY)
    since = store.now() - DAY
    first = await died_of(store, "order 2 has no address", tenant="acme")
    await died_of(store, "order 3 has no address")
    store.later(2 * HOUR)
    await died_of(store, "order 4 has no address")
    await store.resolve(first)

    counted = await store.stores.dead_letters.by_hour(since=since, tenant=None, limit=100)
    of_acme = await store.stores.dead_letters.by_hour(since=since, tenant="acme", limit=100)
    newest = await store.stores.dead_letters.by_hour(since=since, tenant=None, limit=1)

    assert [(one.fingerprint, one.letters) for one in counted] == [(cause, 1), (cause, 1)]
    assert counted[1].at - counted[0].at == 2 * HOUR
    assert (counted[0].at.minute, counted[0].at.second) == (0, 0)
    assert of_acme == []
    assert newest == counted[1:]


async def test_closed_letters_are_in_no_group(store: Store) -> None:
    await store.resolve(await store.dead())
    await store.investigate(await store.dead())

    [group] = await store.stores.dead_letters.groups(kind=None, queue=None, tenant=None, limit=10, most=100)

    assert group.letters == 1


async def test_a_cause_that_strikes_again_after_a_decision_has_come_back(store: Store) -> None:
    first = await died_of(store, "order 17 has no address")
    [before] = await store.stores.dead_letters.groups(kind=None, queue=None, tenant=None, limit=10, most=100)
    store.later(MINUTE)
    closed_at = store.now()
    await store.resolve(first)
    store.later(MINUTE)
    await died_of(store, "order 2048 has no address")
    await died_of(store, "the warehouse does not answer")

    found = await store.stores.dead_letters.groups(kind=None, queue=None, tenant=None, limit=10, most=100)

    came_back = {group.message: (group.is_regressed, group.last_closed_at) for group in found}
    assert (before.is_regressed, before.last_closed_at) == (False, None)
    assert came_back == {
        "order 2048 has no address": (True, closed_at),
        "the warehouse does not answer": (False, None),
    }


async def test_a_death_without_an_error_is_grouped_by_its_reason(store: Store) -> None:
    for _ in range(2):
        await store.enqueue(deadline_in=MINUTE)
    store.later(2 * MINUTE)
    await store.stores.upkeep.miss_deadlines(limit=10)

    [group] = await store.stores.dead_letters.groups(kind=None, queue=None, tenant=None, limit=10, most=100)

    assert (group.letters, group.error_type, group.message) == (2, "", "deadline")
