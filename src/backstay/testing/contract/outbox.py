"""The outbox: every change of a job that somebody listens to, once, in order, and nothing where nobody does."""

from __future__ import annotations

from uuid import uuid4

import pytest

from backstay.model.job import Progress
from backstay.model.live import Change
from backstay.model.states import TRANSITIONS, Transition
from backstay.model.webhooks import Webhook
from backstay.stores.contract.outbox import Outbox
from backstay.testing.contract.support import HOUR, MINUTE, SECOND, Store
from backstay.testing.contract.transitions import VERBS, _arrange, _arrow_name


def _outbox(store: Store) -> Outbox:
    return store.stores.service.outbox


async def _listening(store: Store, *topics: str) -> int:
    """listen to topics for long; returns the position from which on their changes are whole."""
    outbox = _outbox(store)
    await outbox.listen(topics, length=1000 * HOUR)
    return await outbox.confirm(topics)


async def _heard(store: Store, since: int) -> list[Change]:
    await _outbox(store).number()
    return await _outbox(store).after(since, limit=1000)


@pytest.mark.parametrize("arrow", TRANSITIONS, ids=_arrow_name)
async def test_every_arrow_of_the_table_is_told(store: Store, arrow: Transition) -> None:
    """Whoever makes it: storing, claiming, settling, operators, maintenance."""
    job_id = store.new_job().id if arrow.source is None else await _arrange(store, arrow.source)
    if arrow.verb == "release" and arrow.target.value == "scheduled":
        job_id = await store.enqueue(held_for="an approval", delay=HOUR)
    since = await _listening(store, f"job:{job_id}")

    await VERBS[arrow.verb](store, job_id, arrow.target)

    job, changes = await store.job(job_id), await _heard(store, since)
    # A verb that leaves the state as it is, such as another time for a scheduled job, changes nothing.
    expected = [] if arrow.source is arrow.target else [arrow.target]
    assert [change.to_state for change in changes][-1:] == expected
    assert {change.job_id for change in changes} <= {job_id}
    for change in changes[-1:]:
        assert (change.from_state or None, change.attempt) == (
            changes[-2].to_state if len(changes) > 1 else arrow.source,
            job.attempt,
        )
        assert (change.at, change.kind, change.queue) == (job.updated_at, "report", "default")


async def test_nothing_is_written_where_nobody_listens(store: Store) -> None:
    since = (await _outbox(store).look()).last
    claim = await store.claimed()
    await store.complete(claim)

    assert await _heard(store, since) == []


async def test_only_the_topics_that_somebody_listens_to_are_told(store: Store) -> None:
    since = await _listening(store, "queue:mail", "kind:letter", "tenant:acme")

    by_queue = await store.enqueue(queue="mail")
    by_kind = await store.enqueue(kind="letter")
    by_tenant = await store.enqueue(tenant="acme")
    await store.enqueue()

    assert {change.job_id for change in await _heard(store, since)} == {by_queue, by_kind, by_tenant}


async def test_whoever_listens_to_all_hears_of_every_job(store: Store) -> None:
    since = await _listening(store, "all")

    ids = await store.enqueue_many(5)
    await store.enqueue(queue="mail", tenant="acme")

    heard = await _heard(store, since)
    assert {*ids} < {change.job_id for change in heard}
    assert len(heard) == 6
    assert {change.from_state for change in heard} == {None}


async def test_positions_rise_and_the_changes_of_a_job_are_in_their_order(store: Store) -> None:
    since = await _listening(store, "all")
    ids = await store.enqueue_many(20)
    for claim in await store.claim(limit=20):
        await store.complete(claim)

    changes = await _heard(store, since)

    assert [change.position for change in changes] == sorted({change.position for change in changes})
    for job_id in ids:
        of_job = [change.to_state for change in changes if change.job_id == job_id]
        assert of_job == ["available", "running", "completed"]


async def test_a_change_has_no_position_until_a_reader_has_seen_it(store: Store) -> None:
    since = await _listening(store, "all")
    await store.enqueue()

    assert (await _outbox(store).look()).has_new
    assert await _outbox(store).after(since, limit=10) == []
    assert await _outbox(store).number() == 1
    assert not (await _outbox(store).look()).has_new
    assert len(await _outbox(store).after(since, limit=10)) == 1


async def test_progress_is_told_as_well(store: Store) -> None:
    claim = await store.claimed()
    since = await _listening(store, f"job:{claim.id}")

    for current in (1.0, 2.0):
        await store.stores.progress.write([(claim, Progress(current, 4.0, "half way"))])

    told = [change.progress for change in await _heard(store, since)]
    assert told == [{"current": at, "total": 4.0, "message": "half way"} for at in (1.0, 2.0)]


async def test_a_listener_runs_out_and_then_begins_anew(store: Store) -> None:
    outbox = _outbox(store)
    since = await _listening(store, "all")
    assert await outbox.listen(["all"], length=MINUTE) == {"all": since}
    store.later(MINUTE)

    await store.enqueue()

    assert await outbox.since("all") is None
    assert await _heard(store, since) == []
    assert await outbox.listen(["all"], length=MINUTE) == {"all": None}


async def test_who_listens_always_goes_on_for_ever(store: Store) -> None:
    outbox = _outbox(store)
    await outbox.listen_always("kind:report")
    since = await outbox.confirm(["kind:report"])
    store.later(1000 * HOUR)

    job_id = await store.enqueue()
    await outbox.listen(["kind:report"], length=SECOND)
    store.later(HOUR)
    await outbox.forget(keep=2 * HOUR)

    assert [change.job_id for change in await _heard(store, since)] == [job_id]
    assert await outbox.since("kind:report") == since


async def test_changes_are_kept_for_a_while_and_not_when_nobody_listens(store: Store) -> None:
    outbox = _outbox(store)
    await outbox.listen_always("queue:other")
    since = await _listening(store, "all")
    await store.enqueue()
    store.later(HOUR)
    await store.enqueue()
    assert len(await _heard(store, since)) == 2

    await outbox.forget(keep=MINUTE)
    assert len(await outbox.after(since, limit=10)) == 1
    look = await outbox.look()
    assert (look.has_all_after(look.last), look.has_all_after(since)) == (True, False)

    await outbox.hush("queue:other")
    await outbox.hush("all")
    await outbox.forget(keep=HOUR)
    assert await outbox.after(since, limit=10) == []


async def test_every_transaction_that_wrote_before_the_mark_has_ended_when_it_is_reached(
    store: Store,
) -> None:
    outbox = _outbox(store)

    mark = await outbox.mark()

    assert await outbox.oldest() >= mark


async def _made_webhook(store: Store, *, tenant: str = "", kinds: list[str] | None = None) -> Webhook:
    webhook_id, webhooks = uuid4(), store.stores.service.webhooks
    await webhooks.add(
        webhook_id,
        tenant=tenant,
        name="pager",
        url="https://example.com/",
        events=["job.dead"],
        kinds=kinds,
        form="standard",
        secret=str(uuid4()),
        actor="ann",
    )
    found = await webhooks.get(webhook_id)
    assert found is not None
    return found[0]


async def _changes_of_a_job(store: Store, kind: str) -> int:
    """How many changes are written of a new job, long after whoever listened for a while has gone."""
    store.later(1000 * HOUR)
    since = (await _outbox(store).look()).last
    await store.enqueue(kind=kind)
    return len(await _heard(store, since))


async def test_a_webhook_listens_without_end_until_it_is_gone_or_switched_off(store: Store) -> None:
    webhooks = store.stores.service.webhooks
    every = await _made_webhook(store)
    one = await _made_webhook(store, kinds=["report"])

    with_both = [await _changes_of_a_job(store, kind) for kind in ("report", "other")]
    await webhooks.change(every, name=None, url=None, events=None, is_enabled=False, actor="ann")
    with_one = [await _changes_of_a_job(store, kind) for kind in ("report", "other")]
    await webhooks.remove(one, actor="ann")
    with_none = [await _changes_of_a_job(store, kind) for kind in ("report", "other")]

    assert (with_both, with_one, with_none) == ([1, 1], [1, 0], [0, 0])


async def test_a_webhook_that_goes_leaves_those_who_listen_beside_it(store: Store) -> None:
    webhook = await _made_webhook(store)
    since = await _listening(store, "tenant:")
    await store.stores.service.webhooks.remove(webhook, actor="ann")

    job_id = await store.enqueue()

    assert [change.job_id for change in await _heard(store, since)] == [job_id]


async def test_changes_that_webhooks_were_not_told_yet_are_kept_for_a_day(store: Store) -> None:
    outbox, webhook = _outbox(store), await _made_webhook(store)
    first, second = await store.enqueue(), await store.enqueue()
    await outbox.number()
    untold = await outbox.untold(limit=10)
    await outbox.note_told(untold[0].position)
    store.later(2 * HOUR)

    await outbox.forget(keep=HOUR)
    kept = await outbox.untold(limit=10)
    store.later(24 * HOUR)
    await outbox.forget(keep=HOUR)

    assert webhook.hears("job.dead", "report")
    assert [change.job_id for change in untold] == [first, second]
    assert [change.job_id for change in kept] == [second]
    assert await outbox.untold(limit=10) == []
    assert (await outbox.look()).told == untold[0].position
