"""Limits: permits that cannot leak, tokens by the store's clock, and jobs that wait in their key's line."""

from __future__ import annotations

from typing import Any

from backstay.model.job import Claim, JobId
from backstay.model.limits.admission import Claimed, LimitRecord
from backstay.model.limits.declared import KindLimits, Limit, PairLimits, QueueLimits, pair_limits
from backstay.model.outcome import Released
from backstay.model.records import Wanted
from backstay.model.states import State
from backstay.testing.contract.support import LEASE, SECOND, Store, ids, wanted

ONE_EACH = KindLimits(key_limit=Limit(1, key="customer:{customer}"))


def limited(
    limits: KindLimits = ONE_EACH,
    *,
    kind: str = "report",
    queue: str = "default",
    of_queue: QueueLimits | None = None,
    ceiling: int | None = None,
) -> Wanted:
    """A kind that a worker can run, under limits."""
    return wanted(kind, queue, limits=pair_limits(queue, kind, limits, of_queue, ceiling))


async def try_claim(
    store: Store, *pairs: Wanted, plain: tuple[Wanted, ...] = (), worker: str = "w", limit: int = 10
) -> Claimed:
    """Claim what limits allow."""
    await store.register(worker)
    return await store.stores.claims.claim_limited(
        pairs or (limited(),),
        plain,
        worker=worker,
        claim_id=store.new_id(),
        limit=limit,
        limited_limit=limit,
        suspects=1,
    )


async def take(store: Store, *pairs: Wanted, **options: Any) -> list[Claim]:
    """The claims that limits allow."""
    return (await try_claim(store, *pairs, **options)).claims


async def of_customer(store: Store, customer: object, **options: Any) -> JobId:
    """Store a job of a customer."""
    text = f'"{customer}"' if isinstance(customer, str) else str(customer)
    return await store.enqueue(args=f'{{"customer": {text}}}', **options)


async def known(store: Store, key: str) -> LimitRecord:
    """What the store knows of a limit."""
    return next(one for one in await store.stores.limits.all(limit=100, most=1000) if one.key == key)


async def test_a_limited_claim_says_everything_that_a_plain_one_says(store: Store) -> None:
    options: dict[str, Any] = {
        "args": '{"customer": 7}',
        "tenant": "acme",
        "correlation_id": "c-1",
        "max_attempts": 2,
        "timeout": 5 * SECOND,
        "lease": 30 * SECOND,
        "policy": '{"priority": 1}',
    }
    plain = await store.claimed(**options)
    job = await store.job(plain.id)
    await store.enqueue(**options)

    [claim] = await take(store)

    other = await store.job(claim.id)
    assert claim._replace(id=plain.id, limits=()) == plain
    assert claim.limits == ("key customer:7",)
    for field in (
        "state",
        "worker",
        "attempt",
        "run",
        "max_attempts",
        "started_at",
        "heartbeat_at",
        "updated_at",
    ):
        assert getattr(other, field) == getattr(job, field), field
    assert other.lease_expires_at == job.lease_expires_at == store.now() + 30 * SECOND


async def test_a_job_beyond_its_keys_limit_is_held_and_says_why(store: Store) -> None:
    first, second, other = [await of_customer(store, number) for number in (7, 7, 8)]

    claims = await take(store)

    held = await store.job(second)
    assert ids(claims) == [first, other]
    assert (held.state, held.reason) == (State.HELD, "limit: key customer:7 is full (1 at a time)")


async def test_who_waits_for_a_limit_is_counted_up_to_a_limit(store: Store) -> None:
    for _ in range(4):
        await of_customer(store, 7)
    await take(store)

    [counted] = await store.stores.limits.all(limit=10, most=2)

    assert (counted.in_use, counted.waiting, counted.is_capped) == (1, 2, True)
    assert (await known(store, counted.key)).waiting == 3


async def test_what_is_held_for_a_limit_goes_on_when_a_permit_is_free_however_the_job_ended(
    store: Store,
) -> None:
    ways = ("complete", "fail", "die", "release")
    for way in ways:
        first, second = await of_customer(store, way), await of_customer(store, way)
        [claim] = await take(store)
        assert (claim.id, await store.state(second)) == (first, State.HELD)

        match way:
            case "complete":
                settled = await store.complete(claim)
                assert settled.freed == {"default"}
            case "fail":
                await store.fail(claim)
            case "die":
                await store.fail_for_good(claim)
            case "release":
                await store.end(claim, Released())

        # Given back, the first is in line again and before the second.
        expected = [first] if way == "release" else [second]
        claims = await take(store)
        assert ids(claims) == expected, way
        for one in claims:
            await store.complete(one)
        for one in await take(store):
            await store.complete(one)
        assert (await known(store, f"key customer:{way}")).in_use == 0, way


async def test_a_permit_is_gone_with_the_claim_of_a_worker_that_died(store: Store) -> None:
    first, second = await of_customer(store, 7), await of_customer(store, 7)
    [claim] = await take(store, worker="dying")
    await take(store, worker="other")
    store.later(LEASE + SECOND)

    seized = await store.seize()
    # Nobody may start before it is decided what becomes of the first.
    await of_customer(store, 7)
    during = ids(await take(store, worker="other"))
    await store.end(seized[0].claim, Released())

    assert (during, claim.id) == ([], first)
    assert ids(await take(store, worker="other")) == [first]
    assert await store.state(second) is State.HELD
    # The late worker is refused, and frees nothing.
    settled = await store.complete(claim)
    assert (set(settled.lost), ids(await take(store, worker="third"))) == ({claim.id}, [])


async def test_a_whole_kinds_limit_holds_and_puts_nobody_aside(store: Store) -> None:
    jobs = await store.enqueue_many(5)
    pair = limited(KindLimits(limit=2))

    claimed = await try_claim(store, pair)
    again = await try_claim(store, pair)

    assert (ids(claimed.claims), again.claims) == (jobs[:2], [])
    assert again.waits == {("default", "report"): None}
    assert [await store.state(job) for job in jobs[2:]] == [State.AVAILABLE] * 3
    await store.complete(claimed.claims[0])
    assert ids(await take(store, pair)) == [jobs[2]]


async def test_queues_and_a_ceiling_limit_all_their_kinds_together(store: Store) -> None:
    pairs = [
        limited(KindLimits(), kind=kind, queue=queue, of_queue=QueueLimits(limit=2), ceiling=3)
        for queue, kind in (("mail", "a"), ("mail", "b"), ("web", "a"), ("web", "b"))
    ]
    for pair in pairs * 2:
        await store.enqueue(queue=pair.queue, kind=pair.kind)

    claims = await take(store, *pairs)

    assert sorted(claim.queue for claim in claims) == ["mail", "mail", "web"]
    assert {claim.limits for claim in claims} == {("all", "queue mail"), ("all", "queue web")}
    settled = await store.complete(claims[0])
    assert "*" in settled.freed
    assert len(await take(store, *pairs)) == 1


async def test_slots_go_to_limited_and_plain_jobs_in_order_of_turn(store: Store) -> None:
    """ENG-032: a limit changes how many run, not whose turn it is."""
    expected: list[JobId] = []
    for number in range(4):
        expected.append(await store.enqueue(kind="plain"))
        store.later(SECOND)
        expected.append(await of_customer(store, number))
        store.later(SECOND)

    claims = await take(store, plain=(wanted("plain"),), limit=4)
    one_slot = await take(store, plain=(wanted("plain"),), limit=1)

    assert set(ids(claims)) == set(expected[:4])
    assert ids(one_slot) == [expected[4]]


async def test_a_long_line_for_one_key_does_not_hide_the_jobs_behind_it(store: Store) -> None:
    await store.enqueue_many(450, args='{"customer": 7}')
    other = await of_customer(store, 8)

    claims = await take(store, limit=2)

    assert [claim.id for claim in claims][1] == other
    assert (await known(store, "key customer:7")).waiting == 449


async def test_a_lowered_limit_lets_running_jobs_finish_and_starts_no_other(store: Store) -> None:
    """G2."""
    jobs = await store.enqueue_many(5)
    three, one = limited(KindLimits(limit=3)), limited(KindLimits(limit=1))
    running = await take(store, three)

    assert await take(store, one) == []
    for claim in running[:2]:
        await store.complete(claim)
        assert await take(store, one) == []
    await store.complete(running[2])

    assert ids(await take(store, one)) == [jobs[3]]


async def test_a_raised_limit_counts_for_who_waits_at_the_next_repair(store: Store) -> None:
    for _ in range(3):
        await of_customer(store, 7)
    await take(store)

    wider = limited(KindLimits(key_limit=Limit(3, key="customer:{customer}")))
    await of_customer(store, 7)
    first = await take(store, wider)
    await store.stores.limits.repair("", limit=10)

    assert (len(first), len(await take(store, wider))) == (1, 1)


async def test_a_permit_left_by_a_crash_between_two_statements_is_repaired(store: Store) -> None:
    await of_customer(store, 7)
    second = await of_customer(store, 7)
    [claim] = await take(store)
    # A process that settles and dies: what frees the permit never comes.
    await store.complete(claim._replace(limits=()))
    assert await store.state(second) is State.HELD

    end, queues = await store.stores.limits.repair("", limit=10)

    assert (end, set(queues)) == (None, {"default"})
    assert ids(await take(store)) == [second]


async def test_repair_goes_through_many_keys_in_bounded_steps(store: Store) -> None:
    for number in range(25):
        for _ in range(2):
            await of_customer(store, f"{number:02}")
    claims = await take(store, limit=25)
    for claim in claims:
        await store.complete(claim._replace(limits=()))

    after: str | None = ""
    while after is not None:
        after, _ = await store.stores.limits.repair(after, limit=10)

    assert (len(claims), len(await take(store, limit=50))) == (25, 25)


async def test_an_operator_who_releases_a_held_job_does_not_go_past_the_limit(store: Store) -> None:
    await of_customer(store, 7)
    second = await of_customer(store, 7)
    [claim] = await take(store)

    await store.stores.jobs.release(second, actor="ann")
    assert await take(store) == []
    await store.stores.jobs.release(second, actor="ann")
    await store.stores.jobs.hold(second, reason="ask Bob", actor="ann")
    await store.complete(claim)
    await store.stores.limits.repair("", limit=10)

    held = await store.job(second)
    assert (held.state, held.reason) == (State.HELD, "ask Bob")


async def test_who_holds_a_permit_and_who_waits_can_be_seen(store: Store) -> None:
    first = await of_customer(store, 7)
    for _ in range(2):
        await of_customer(store, 7)
    await take(store, worker="w1")

    limit = await known(store, "key customer:7")
    [holder] = await store.stores.limits.holders("key customer:7", limit=10)

    assert (limit.most, limit.in_use, limit.waiting, limit.tokens) == (1, 1, 2, None)
    assert (holder.job_id, holder.kind, holder.worker, holder.started_at) == (
        first,
        "report",
        "w1",
        store.now(),
    )


async def test_keys_that_nobody_uses_are_forgotten_and_those_in_use_are_not(store: Store) -> None:
    for customer in (1, 2, 2):
        await of_customer(store, customer)
    done, _ = await take(store)
    await store.complete(done)
    store.later(SECOND)

    await store.forget_unused()

    assert [one.key for one in await store.stores.limits.all(limit=10, most=100)] == ["key customer:2"]


async def test_a_paused_queue_and_a_worker_that_was_given_up_claim_nothing(store: Store) -> None:
    await of_customer(store, 7)
    await store.register("dead")
    await store.stores.workers.declare_one_dead("dead")
    await store.stores.queues.pause(queue="default", kind=None, actor="ann", reason="x")

    paused = await take(store)
    await store.stores.queues.resume(queue="default", kind=None, actor="ann")

    assert (paused, await take(store, worker="dead"), len(await take(store))) == ([], [], 1)


async def test_at_most_the_suspects_asked_for_start_under_a_limit(store: Store) -> None:
    for customer in (1, 2):
        await of_customer(store, customer)
    crashed = await take(store)
    store.later(LEASE + SECOND)
    await store.rescue(again=True)

    claims = await take(store)

    assert (len(crashed), len(claims)) == (2, 1)


async def test_jobs_without_arguments_for_the_key_are_left_to_their_handler(store: Store) -> None:
    job = await store.enqueue(args="{}")

    assert ids(await take(store)) == [job]


def test_a_pair_without_limits_is_plain() -> None:
    assert not PairLimits()
    assert not pair_limits("q", "k", KindLimits(), QueueLimits(per_worker=3), None)
