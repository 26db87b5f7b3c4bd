"""Every operation of a store, ready to be cut in the middle: what must be there before, and how it is called.

`arrange` makes what the operation needs and returns what it is called with, ids included, so that it can be called
again word for word.
Here are the nouns that every store has had from the start; newer ones have files of their own, and `matrix.py` names
them all.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

from backstay.model.job import Claim, JobId, NewJob, NewStep, Progress
from backstay.model.limits.declared import KindLimits, Rate
from backstay.model.outcome import Fail, Released, Waiting
from backstay.model.reactions import Reaction, to_json
from backstay.model.records import AuditFilter, DeadLetterFilter, JobFilter, KindRecord, Measured, Vitals
from backstay.model.settlement import Settlement, settle
from backstay.model.signals import NewSignal, Wait
from backstay.model.states import State
from backstay.testing.contract.limits import limited, of_customer, take
from backstay.testing.contract.support import (
    BOOM,
    DAY,
    HOUR,
    LEASE,
    POLICY,
    REPORT,
    SECOND,
    Store,
    new_worker,
)

CLAIM_ID = UUID("01900000-0000-7000-8000-000000000001")
START = UUID(int=0)
HOLD = 10 * SECOND
AUDITED: dict[str, Any] = {"actor": "ann", "reason": "because"}

Arrange = Callable[[Store], Awaitable[Any]]
Act = Callable[[Store, Any], Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """One call, and how its caller goes on who never heard the answer."""

    name: str
    arrange: Arrange
    act: Act
    is_repeated: bool = True
    """Whether the caller simply calls again; otherwise he looks first, and calls only if it has not happened."""
    is_atomic: bool = True
    """Whether half of it must never be seen; otherwise each half is good in itself."""
    has_sequel: bool = False
    """Whether something follows from it in a transaction of its own, which the leader makes up for if it is cut off."""
    is_best_effort: bool = False
    """Whether it may leave its work to the next round without saying so, as what is done again and again may."""
    go_on: Act | None = None
    """What the caller does instead of the same call."""
    alike: tuple[str, ...] = ()
    """The columns of jobs by which the end is compared, where going on leads to another epoch."""
    makes_tables: bool = False
    """Whether it changes the tables themselves, not only what is in them."""
    has_own_times: bool = False
    """Whether it takes the time from the database, where every case finds another; then times are not compared."""


class CutStore(Store):
    """The store that an operation is called on, and where it is, for those that bring a connection of their own."""

    url: str = ""


async def stored_and_new(store: Store) -> tuple[JobId, NewJob]:
    return await store.enqueue(), store.new_job(priority=1)


async def paused_tenant(store: Store) -> JobId:
    job_id = await store.enqueue(tenant="a")
    await store.stores.queues.pause(tenant="a", length=SECOND, **AUDITED)
    store.later(2 * SECOND)
    return job_id


async def limited_tenant(store: Store) -> None:
    await store.stores.quotas.set(tenant="a", queue=None, most=1, **AUDITED)


async def waiting_job(store: Store) -> JobId:
    claim = await store.claimed()
    await store.end(claim, Waiting(Wait("go", timeout=SECOND)))
    return claim.id


async def late_wait(store: Store) -> JobId:
    job_id = await waiting_job(store)
    store.later(2 * SECOND)
    return job_id


async def nothing(store: Store) -> None:
    return None


def new(count: int = 2, **options: Any) -> Arrange:
    """Jobs that are made, and not stored."""

    async def arrange(store: Store) -> Any:
        return [store.new_job(**options) for _ in range(count)]

    return arrange


def stored(count: int = 1, **options: Any) -> Arrange:
    """Jobs that wait; given is the first one's id."""

    async def arrange(store: Store) -> Any:
        await store.register()
        return (await store.enqueue_many(count, **options))[0]

    return arrange


async def two_claims(store: Store) -> list[Claim]:
    await store.enqueue_many(2)
    return await store.claim(limit=2, claim_id=CLAIM_ID)


async def expired_claims(store: Store) -> list[Claim]:
    claims = await two_claims(store)
    store.later(LEASE + SECOND)
    return claims


async def running_job(store: Store) -> JobId:
    return (await two_claims(store))[0].id


async def one_claim(store: Store) -> Claim:
    return await store.claimed()


async def two_claims_of_a_kind_that_reacts(store: Store) -> list[Claim]:
    told = to_json(dict.fromkeys((State.COMPLETED, State.DEAD), Reaction(kind="tell", queue="news")))
    reports = KindRecord(
        kind="report", queue="default", policy={}, arguments=None, fingerprint="1", reactions=told
    )
    await store.stores.kinds.declare([reports])
    return await two_claims(store)


async def dead_job(store: Store) -> JobId:
    return await store.dead()


async def two_dead(store: Store) -> list[JobId]:
    return [await store.dead(), await store.dead()]


async def due_jobs(store: Store) -> None:
    await store.enqueue_many(2, delay=SECOND)
    store.later(2 * SECOND)


async def old_jobs(store: Store) -> None:
    for claim in await two_claims(store):
        await store.complete(claim)
    store.later(10 * DAY)


async def old_keys(store: Store) -> None:
    """Keys of both sorts whose time is over."""
    await store.enqueue_keyed(idempotency_key="k", fingerprint="f")
    await store.complete(await store.claim_one())
    await store.enqueue_keyed(unique_key="u", unique_for=HOUR, fingerprint="f")
    store.later(10 * DAY)


async def registered(store: Store) -> None:
    await store.register("w")
    await store.register("other")


async def leading(store: Store) -> None:
    await registered(store)
    await tick(store, None)


async def silent_worker(store: Store) -> None:
    await registered(store)
    store.later(HOUR)


async def long_gone(store: Store) -> None:
    await registered(store)
    await store.stores.workers.retire("other", state="stopped")
    store.later(30 * DAY)


async def paused(store: Store) -> None:
    await store.stores.queues.pause(queue="default", kind=None, actor="ann", reason="because")


async def overridden(store: Store) -> None:
    await set_override(store, None)


def set_override(store: Store, _: Any) -> Awaitable[None]:
    change = '{"max_attempts": 3}'
    return store.stores.overrides.set("kind", "report", "max_attempts", change=change, **AUDITED)


def claim(store: Store, _: Any) -> Awaitable[Any]:
    return store.stores.claims.claim([REPORT], worker="w", claim_id=CLAIM_ID, limit=5, suspects=1)


def claim_new_of_one_pair(store: Store, _: Any) -> Awaitable[Any]:
    return store.stores.claims.claim([REPORT], worker="w", claim_id=CLAIM_ID, limit=5, suspects=0)


async def look_for_strays(store: Store, given: Any) -> None:
    """What a worker does whose claim was not answered: give back what was claimed for it, and claim again."""
    strays = await store.stores.claims.strays("w", unanswered=[CLAIM_ID])
    await settled_as(Released())(store, strays)
    await claim(store, given)


async def wait_for_the_hold(store: Store, given: Any) -> None:
    """What the next rescuer does when the first fell silent between taking over and deciding."""
    store.later(HOLD + LEASE + SECOND)
    await store.seize()


def settled_as(outcome: Any) -> Act:
    """Settle all claims in the same way."""

    async def act(store: Store, claims: list[Claim]) -> Any:
        decided: list[tuple[Claim, Settlement]] = [
            (claim, settle(claim, outcome, POLICY, chance=0.5)) for claim in claims
        ]
        return await store.stores.claims.settle(decided)

    return act


def tick(store: Store, _: Any) -> Awaitable[Any]:
    return store.stores.workers.tick("w", vitals=Vitals(running=1), lease=LEASE, overrun=LEASE)


ONE_EACH = limited()


async def two_customers(store: Store) -> None:
    await store.register()
    for customer in (7, 8):
        await of_customer(store, customer)


async def a_line_for_one(store: Store) -> None:
    """Two customers, one of them with a job too many."""
    await two_customers(store)
    await of_customer(store, 7)


def claim_limited(store: Store, _: Any) -> Awaitable[Any]:
    return store.stores.claims.claim_limited(
        [ONE_EACH], [], worker="w", claim_id=CLAIM_ID, limit=5, limited_limit=5, suspects=1
    )


async def look_for_limited_strays(store: Store, given: Any) -> None:
    """The same as for any claim; what was put aside stays so, or goes on, whichever is its turn."""
    strays = await store.stores.claims.strays("w", unanswered=[CLAIM_ID])
    await settled_as(Released())(store, strays)
    await claim_limited(store, given)


async def ended_unheard(store: Store) -> list[Claim]:
    """Claims that were settled by somebody who died before their permits were freed; a job waits for one of them."""
    await a_line_for_one(store)
    claims: list[Claim] = (await claim_limited(store, None)).claims
    for one in claims:
        await store.complete(one._replace(limits=()))
    return claims


async def out_of_tokens(store: Store) -> None:
    pair = limited(KindLimits(key_rate=Rate("1/s", key="c:{customer}")))
    for _ in range(2):
        await of_customer(store, 7)
    await take(store, pair)
    store.later(2 * SECOND)


async def unused_keys(store: Store) -> None:
    await two_customers(store)
    for one in (await claim_limited(store, None)).claims:
        await store.complete(one)
    store.later(SECOND)


KINDS = [
    KindRecord(
        kind="report", queue="default", policy={}, arguments=None, fingerprint="f", declared_by="host 1"
    )
]
RUNS_OUT = ("id", "state", "attempt", "worker")
OPEN: dict[str, Any] = {"kind": None, "queue": None, "tenant": None, "limit": 9}
NONE = timedelta(0)

WRITING = (
    Operation("enqueuing.enqueue", new(), lambda s, jobs: s.stores.enqueuing.enqueue(jobs)),
    Operation("enqueuing.enqueue", new(1), lambda s, jobs: s.stores.enqueuing.enqueue(jobs)),
    Operation("enqueuing.enqueue", new(1), lambda s, jobs: s.stores.enqueuing.enqueue(jobs, hint="here")),
    Operation(
        "enqueuing.enqueue", new(delay=HOUR, tenant="t"), lambda s, jobs: s.stores.enqueuing.enqueue(jobs)
    ),
    Operation(
        "enqueuing.enqueue_keyed",
        new(1, idempotency_key="k", fingerprint="f"),
        lambda s, jobs: s.stores.enqueuing.enqueue_keyed(jobs),
    ),
    Operation(
        "enqueuing.enqueue_keyed",
        new(1, unique_key="u", unique_for=HOUR, fingerprint="f"),
        lambda s, jobs: s.stores.enqueuing.enqueue_keyed(jobs),
    ),
    Operation(
        "enqueuing.enqueue_keyed",
        new(1, unique_key="u", fingerprint="f"),
        lambda s, jobs: s.stores.enqueuing.enqueue_keyed(jobs),
    ),
    Operation("claims.claim", stored(2), claim, go_on=look_for_strays, alike=RUNS_OUT),
    Operation("claims.claim", stored(2), claim_new_of_one_pair, go_on=look_for_strays, alike=RUNS_OUT),
    Operation(
        "claims.claim_limited",
        two_customers,
        claim_limited,
        go_on=look_for_limited_strays,
        alike=RUNS_OUT,
    ),
    Operation(
        "claims.claim_limited",
        a_line_for_one,
        claim_limited,
        is_atomic=False,
        go_on=look_for_limited_strays,
        alike=RUNS_OUT,
    ),
    Operation(
        "limits.let_go", ended_unheard, lambda s, claims: s.stores.limits.let_go(claims), is_atomic=False
    ),
    Operation("limits.release", ended_unheard, lambda s, _: s.stores.limits.release(["key customer:7"])),
    Operation("limits.release_due", out_of_tokens, lambda s, _: s.stores.limits.release_due(limit=9)),
    Operation(
        "limits.repair", ended_unheard, lambda s, _: s.stores.limits.repair("", limit=9), is_atomic=False
    ),
    Operation("upkeep.forget_unused", unused_keys, lambda s, _: s.forget_unused()),
    Operation("claims.renew", two_claims, lambda s, claims: s.stores.claims.renew(claims)),
    Operation(
        "claims.complete", two_claims, lambda s, claims: s.stores.claims.complete([(c, "1") for c in claims])
    ),
    Operation(
        "claims.complete",
        two_claims,
        lambda s, claims: s.stores.claims.complete([(c, None) for c in claims]),
    ),
    Operation(
        "claims.complete",
        two_claims_of_a_kind_that_reacts,
        lambda s, claims: s.stores.claims.complete([(c, None) for c in claims], reacts=True),
    ),
    Operation("claims.settle", two_claims_of_a_kind_that_reacts, settled_as(Fail(BOOM, hopeless=True))),
    Operation(
        "claims.measure",
        two_claims,
        lambda s, claims: s.stores.claims.measure(
            [(claim, Measured(cpu_ms=5, peak_rss_mb=6)) for claim in claims]
        ),
    ),
    Operation("claims.settle", two_claims, settled_as(Fail(BOOM))),
    Operation("claims.settle", two_claims, settled_as(Fail(BOOM, hopeless=True))),
    Operation("claims.settle", two_claims, settled_as(Released())),
    Operation(
        "claims.seize",
        expired_claims,
        lambda s, _: s.stores.claims.seize(limit=9, hold_for=HOLD, overrun=LEASE),
        go_on=wait_for_the_hold,
        alike=RUNS_OUT,
    ),
    Operation(
        "claims.seize_worker",
        two_claims,
        lambda s, _: s.stores.claims.seize_worker("w", limit=9, hold_for=HOLD),
        go_on=wait_for_the_hold,
        alike=RUNS_OUT,
    ),
    Operation(
        "jobs.cancel",
        stored(),
        lambda s, job: s.stores.jobs.cancel(job, running=True, **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "jobs.cancel",
        running_job,
        lambda s, job: s.stores.jobs.cancel(job, running=True, **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "jobs.reschedule",
        stored(),
        lambda s, job: s.stores.jobs.reschedule(job, run_at=s.now() + HOUR, actor="ann"),
        is_repeated=False,
    ),
    Operation(
        "jobs.change_priority",
        stored(),
        lambda s, job: s.stores.jobs.change_priority(job, priority=1, ageing_step=HOUR, **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "jobs.clone",
        stored_and_new,
        lambda s, both: s.stores.jobs.clone(*both, **AUDITED),
    ),
    Operation("jobs.hold", stored(), lambda s, job: s.stores.jobs.hold(job, **AUDITED), is_repeated=False),
    Operation(
        "jobs.release",
        stored(held_for="a signal"),
        lambda s, job: s.stores.jobs.release(job, actor="ann"),
        is_repeated=False,
    ),
    Operation("jobs.note_waiter", stored(), lambda s, job: s.stores.jobs.note_waiter(job)),
    Operation("upkeep.promote", due_jobs, lambda s, _: s.stores.upkeep.promote(limit=9)),
    Operation(
        "upkeep.expire",
        lambda s: _later(s, stored(2, expires_in=SECOND)),
        lambda s, _: s.stores.upkeep.expire(limit=9),
    ),
    Operation(
        "upkeep.miss_deadlines",
        lambda s: _later(s, stored(2, deadline_in=SECOND)),
        lambda s, _: s.stores.upkeep.miss_deadlines(limit=9),
    ),
    Operation(
        "upkeep.delete_finished",
        old_jobs,
        lambda s, _: s.stores.upkeep.delete_finished({State.COMPLETED: DAY}, after=START, limit=9),
    ),
    Operation("upkeep.forget_keys", old_keys, lambda s, _: s.stores.upkeep.forget_keys(), is_atomic=False),
    Operation("dead_letters.investigate", dead_job, lambda s, job: s.investigate(job), is_repeated=False),
    Operation("dead_letters.retry", dead_job, lambda s, job: s.retry(job), is_repeated=False),
    Operation(
        "dead_letters.retry_as_new",
        dead_job,
        lambda s, job: s.stores.dead_letters.retry_as_new(job, new_id=JobId(CLAIM_ID), delay=NONE, **AUDITED),
        is_repeated=False,
    ),
    Operation("dead_letters.resolve", dead_job, lambda s, job: s.resolve(job), is_repeated=False),
    Operation(
        "dead_letters.retry_many",
        two_dead,
        lambda s, jobs: s.stores.dead_letters.retry_many(jobs, delay=NONE, **AUDITED),
    ),
    Operation(
        "dead_letters.resolve_many",
        two_dead,
        lambda s, jobs: s.stores.dead_letters.resolve_many(jobs, ignored=False, **AUDITED),
    ),
    Operation("kinds.declare", nothing, lambda s, _: s.stores.kinds.declare(KINDS)),
    Operation("kinds.add_routes", nothing, lambda s, _: s.stores.kinds.add_routes([("fast", "report")])),
    Operation("workers.tick", registered, tick),
    Operation("workers.register", nothing, lambda s, _: s.stores.workers.register(new_worker("w"))),
    Operation("workers.retire", registered, lambda s, _: s.stores.workers.retire("w", state="stopped")),
    Operation(
        "workers.tell",
        registered,
        lambda s, _: s.stores.workers.tell("w", "drain", **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "workers.declare_dead", silent_worker, lambda s, _: s.stores.workers.declare_dead(silence=SECOND)
    ),
    Operation("workers.declare_one_dead", registered, lambda s, _: s.stores.workers.declare_one_dead("w")),
    Operation("workers.resign", leading, lambda s, _: s.stores.workers.resign("w")),
    Operation("upkeep.forget_unused", long_gone, lambda s, _: s.forget_unused()),
    Operation(
        "queues.pause",
        nothing,
        lambda s, _: s.stores.queues.pause(queue="default", kind=None, **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "queues.resume",
        paused,
        lambda s, _: s.stores.queues.resume(queue="default", kind=None, actor="ann"),
        is_repeated=False,
    ),
    Operation("queues.tend", paused_tenant, lambda s, _: s.stores.queues.tend(), is_atomic=False),
    Operation(
        "quotas.set",
        nothing,
        lambda s, _: s.stores.quotas.set(tenant="a", queue=None, most=1, **AUDITED),
        is_repeated=False,
    ),
    Operation(
        "quotas.remove",
        limited_tenant,
        lambda s, _: s.stores.quotas.remove(tenant="a", queue=None, actor="ann"),
        is_repeated=False,
    ),
    Operation("signals.send", waiting_job, lambda s, job: s.stores.signals.send(NewSignal(job, "go", "k"))),
    Operation("signals.time_out", late_wait, lambda s, _: s.stores.signals.time_out(limit=9)),
    Operation("overrides.set", nothing, set_override, is_repeated=False),
    Operation(
        "overrides.remove",
        overridden,
        lambda s, _: s.stores.overrides.remove("kind", "report", "max_attempts", actor="ann"),
        is_repeated=False,
    ),
)

READING = (
    Operation("limits.next_due", out_of_tokens, lambda s, _: s.stores.limits.next_due()),
    Operation("limits.rooms", unused_keys, lambda s, _: s.stores.limits.rooms(["key customer:7"])),
    Operation("limits.all", unused_keys, lambda s, _: s.stores.limits.all(limit=9, most=9)),
    Operation("limits.holders", unused_keys, lambda s, _: s.stores.limits.holders("key customer:7", limit=9)),
    Operation("overrides.all", overridden, lambda s, _: s.stores.overrides.all()),
    Operation("claims.cancel_requests", two_claims, lambda s, _: s.stores.claims.cancel_requests("w")),
    Operation("claims.has_work", two_claims, lambda s, _: s.stores.claims.has_work([REPORT])),
    Operation("claims.strays", two_claims, lambda s, _: s.stores.claims.strays("w", unanswered=[CLAIM_ID])),
    Operation(
        "steps.save", one_claim, lambda s, claim: s.stores.steps.save([(claim, NewStep("fetch", 1, "7", 1))])
    ),
    Operation("quotas.all", limited_tenant, lambda s, _: s.stores.quotas.all()),
    Operation("signals.mail", waiting_job, lambda s, job: s.stores.signals.mail(job)),
    Operation("signals.of_job", waiting_job, lambda s, job: s.stores.signals.of_job(job)),
    Operation("steps.results", one_claim, lambda s, claim: s.stores.steps.results(claim.id)),
    Operation("steps.of_job", one_claim, lambda s, claim: s.stores.steps.of_job(claim.id)),
    Operation(
        "progress.write", one_claim, lambda s, claim: s.stores.progress.write([(claim, Progress(1, 2))])
    ),
    Operation("jobs.get", stored(), lambda s, job: s.stores.jobs.get(job)),
    Operation("jobs.search", stored(), lambda s, _: s.stores.jobs.search(JobFilter(), before=None, limit=9)),
    Operation("jobs.counts", stored(), lambda s, _: s.stores.jobs.counts()),
    Operation(
        "audit.search", stored(), lambda s, _: s.stores.audit.search(AuditFilter(), before=None, limit=9)
    ),
    Operation("jobs.attempts", dead_job, lambda s, job: s.stores.jobs.attempts(job)),
    Operation("jobs.runs", dead_job, lambda s, job: s.stores.jobs.runs(job)),
    Operation("jobs.ending", dead_job, lambda s, job: s.stores.jobs.ending(job)),
    Operation("upkeep.next_due", due_jobs, lambda s, _: s.stores.upkeep.next_due()),
    Operation("dead_letters.open", dead_job, lambda s, _: s.stores.dead_letters.open(**OPEN)),
    Operation("dead_letters.groups", dead_job, lambda s, _: s.stores.dead_letters.groups(**OPEN, most=9)),
    Operation("dead_letters.of_job", dead_job, lambda s, job: s.stores.dead_letters.of_job(job)),
    Operation(
        "dead_letters.count",
        dead_job,
        lambda s, _: s.stores.dead_letters.count(DeadLetterFilter(), died_until=s.now()),
    ),
    Operation(
        "dead_letters.next_open",
        dead_job,
        lambda s, _: s.stores.dead_letters.next_open(
            DeadLetterFilter(), died_until=s.now(), after=None, limit=9
        ),
    ),
    Operation("kinds.all", nothing, lambda s, _: s.stores.kinds.all()),
    Operation("workers.all", registered, lambda s, _: s.stores.workers.all()),
    Operation("workers.tick_info", registered, lambda s, _: s.stores.workers.tick_info("w")),
    Operation("queues.pauses", paused, lambda s, _: s.stores.queues.pauses()),
    Operation("audit.of_job", dead_job, lambda s, job: s.stores.audit.of_job(job)),
    Operation("insights.waiting", stored(), lambda s, _: s.stores.insights.waiting()),
    Operation("insights.routes", nothing, lambda s, _: s.stores.insights.routes()),
    Operation("insights.stuck", expired_claims, lambda s, _: s.stores.insights.stuck(grace=SECOND)),
    Operation("insights.broken", stored(), lambda s, _: s.stores.insights.broken(newest=9)),
    Operation("insights.open_dead_letters", dead_job, lambda s, _: s.stores.insights.open_dead_letters()),
    Operation("insights.ahead", stored(), lambda s, job: s.stores.insights.ahead(job, limit=9)),
    Operation("insights.engine", nothing, lambda s, _: s.stores.insights.engine()),
    Operation("insights.health", nothing, lambda s, _: s.stores.insights.health()),
    Operation("insights.drift", nothing, lambda s, _: s.stores.insights.drift()),
)


async def _later(store: Store, arrange: Arrange) -> Any:
    given = await arrange(store)
    store.later(2 * SECOND)
    return given
