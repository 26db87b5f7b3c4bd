"""Faults of our own making, to see whether they are found: what if the engine were wrong here?

A mutant replaces the text of one SQL file, or one function, of the installed product, in a process of these tests that
was started with `CHAOS_MUTANT=<name>`. The product itself knows nothing of them. A mutant that no longer finds what
it wants to spoil says so.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from backstay.client import client as clients
from backstay.client import jobs as client_jobs
from backstay.errors import StoreUnavailable
from backstay.maintenance.rescuer import Rescuer
from backstay.model.job import JobId
from backstay.model.records import Settled
from backstay.stores import dependents as following
from backstay.stores import enqueuing, rows
from backstay.stores import flows as flow_stores
from backstay.stores import schedules as schedule_stores
from backstay.stores.claims import claims
from backstay.stores.claims.claims import ClaimStore
from backstay.stores.database import postgres, queries
from backstay.stores.enqueuing import EnqueuingStore
from backstay.stores.flows import FlowStore
from backstay.stores.handler_transaction.completing import Completing
from backstay.stores.schedules import ScheduleStore
from backstay.worker.fetch.fetcher import Fetcher
from backstay.worker.worker import Worker

VARIABLE = "CHAOS_MUTANT"

Plant = Callable[[], None]


@dataclass(frozen=True)
class Mutant:
    """What is wrong, and how to make it so."""

    what: str
    plant: Plant


def plant_chosen() -> None:
    """Plant the mutant that the environment names, if it names one."""
    name = os.environ.get(VARIABLE)
    if name:
        MUTANTS[name].plant()


def pytest_configure() -> None:
    """As a plugin of pytest: plant it before the tests of the contract."""
    plant_chosen()


@dataclass(frozen=True)
class Spoiled:
    """A statement with other words in the place of some."""

    name: str
    changes: tuple[tuple[str, str], ...]

    def __call__(self) -> None:
        source = queries.statement_text

        def spoiled(dialect: str, asked: str) -> str:
            text = source(dialect, asked)
            return self.spoil(text) if asked == self.name else text

        queries.statement_text = spoiled

    def spoil(self, text: str) -> str:
        for before, after in self.changes:
            assert before in text, f"{self.name} does not say {before!r} any more"
            text = text.replace(before, after)
        return text


def sql(name: str, old: str, new: str, *more: tuple[str, str]) -> Spoiled:
    """Spoil a statement."""
    return Spoiled(name, ((old, new), *more))


def method(owner: Any, name: str, other: Callable[..., Any]) -> Plant:
    """Spoil a function."""

    def plant() -> None:
        assert hasattr(owner, name), f"there is no {name} in {owner} any more"
        setattr(owner, name, other)

    return plant


def both(*plants: Plant) -> Plant:
    def plant() -> None:
        for one in plants:
            one()

    return plant


async def complete_by_attempt(store: ClaimStore, finished: Any) -> Settled:
    values = [
        {"job_id": claim.id, "epoch": claim.epoch, "value": result, "attempt": claim.attempt}
        for claim, result in finished
    ]
    found = await store.lane.fetch_each("jobs/complete", values)
    asked = [claim for claim, _ in finished]
    if sum(row["number"] for row in found) < len(asked):
        return await store._reckon(asked, [])
    return Settled(done=frozenset(claim.id for claim in asked))


async def believe_all_done(store: ClaimStore, asked: Any, found: Any) -> Settled:
    return Settled(done=frozenset(claim.id for claim in asked))


async def do_not_ask_who_settled(store: ClaimStore, asked: Any, found: Any) -> Settled:
    done = frozenset(rows.job_id(row["id"]) for row in found)
    return Settled(done=done, lost=frozenset(claim.id for claim in asked) - done)


async def settle_in_pieces(store: ClaimStore, settlements: Any) -> Settled:
    found = await store.lane.fetch_each("jobs/settle", [claims._settlement(*pair) for pair in settlements])
    done = {rows.job_id(row["id"]) for row in found}
    await claims._record(store.lane, [pair for pair in settlements if pair[0].id in done])
    return await store._reckon([claim for claim, _ in settlements], found)


async def finish_in_pieces(self: Completing, result: str | None) -> None:
    await self._block.commit()
    self._block._transaction = self._block.connection.transaction()
    await self._block._transaction.start()
    await finish_as_it_is(self, result)


finish_as_it_is = Completing.finish


async def store_keyed_in_pieces(store: EnqueuingStore, jobs: Any) -> Any:
    return [await enqueuing._store_keyed(store.lane, job) for job in jobs]


async def look_then_reserve(connection: Any, job: Any, key: str) -> JobId | None:
    holder = await connection.fetch("keys/find", tenant=job.tenant, key=key)
    if holder:
        return rows.job_id(holder[0]["job_id"])
    await asyncio.sleep(0)
    await connection.fetch(
        "keys/reserve",
        tenant=job.tenant,
        key=key,
        fingerprint=job.fingerprint,
        job_id=job.id,
        keep=enqueuing.KEEP_KEYS,
    )
    return None


async def once_and_believe_the_worst(act: Any, **_: Any) -> Any:
    return await act()


async def once_and_believe_the_best(act: Any, **_: Any) -> Any:
    try:
        return await act()
    except StoreUnavailable as error:
        if not error.was_sent:
            raise
        return []


async def again_with_other_ids(self: client_jobs.Jobs, jobs: Any, ids: Any) -> None:
    while True:
        try:
            return await self.stores.enqueuing.enqueue(jobs)
        except StoreUnavailable as error:
            if not error.was_sent:
                raise
            jobs = [job._replace(id=JobId(self.env.new_id())) for job in jobs]
            await self.env.sleep(0.1)


async def count_one_down(connection: Any, concerned: Any, effects: Any) -> Any:
    """As a number of open parents would be: one telling, one less."""
    for child in concerned:
        if not await connection.fetch("flows/ended", ids=[child]):
            continue
        found = await connection.fetch("flows/of_job", id=child)
        still = [row for row in found if row["verdict"] is None and rows.job_id(row["job_id"]) == child]
        for row in still[:1]:
            tie = {name: row[name] for name in ("job_id", "parent_id", "place")}
            await connection.fetch_each("flows/decide", [{**tie, "decided": "met"}])
        if len(still) == 1:
            released = await connection.fetch_each("jobs/release", [{"job_id": child}])
            effects.queues |= {row["queue"] for row in released}
    return []


async def store_without_a_look(store: FlowStore, flow: Any) -> dict[Any, Any]:
    async with store.lane.transaction() as connection:
        whose = await flow_stores.check(connection, flow)
        await connection.fetch_each("jobs/enqueue", [enqueuing.values_of(job) for job in flow.jobs])
        await flow_stores.tie(connection, flow, *whose)
    return {}


async def sweep_nothing(store: FlowStore, *, after: Any, limit: int) -> None:
    return None


async def nothing(*_: Any) -> int:
    return 0


async def shut_down_without_the_claim(
    self: Any, parts: Any, fetcher: Any, fetching: Any, settler: Any
) -> None:
    self._emit("worker.stopping", worker=self.id, running=self.running)
    fetcher.stop()
    fetching.cancel()
    await asyncio.gather(fetching, return_exceptions=True)
    await self._drained(settler, lambda: 2.0)


def _run_on_one_loop(self: Any, handlers_loop: Any, ended: Any) -> None:
    asyncio.run_coroutine_threadsafe(self._engine(), handlers_loop).result()
    handlers_loop.call_soon_threadsafe(ended.set_result, None)


def trust_the_workers_clock() -> None:
    """Use what `clock` is for in tests, with a clock that goes wrong."""
    make = postgres.Postgres.__init__

    def init(self: Any, url: str, **options: Any) -> None:
        skew = timedelta(seconds=float(os.environ.get("CHAOS_SKEW", "-600")))
        make(self, url, **{**options, "clock": lambda: datetime.now(UTC) + skew})

    method(postgres.Postgres, "__init__", init)()


FENCE = "AND job.lease_epoch = given.epoch"
RUNNING = "AND job.state = 'running'"


async def mark_then_insert(self: ScheduleStore, schedule: Any, plan: Any, jobs: Any) -> Any:
    """Move the schedule on, and store its jobs in a transaction of their own."""
    moved = await self.lane.fetch(
        "schedules/advance",
        id=schedule.id,
        version=schedule.version,
        due=schedule.next_fire_at,
        next_fire_at=plan.next_fire_at,
        last_fire_at=plan.fires[-1].fire_time if plan.fires else None,
        missed=plan.dropped,
    )
    if not moved:
        return None
    async with self.lane.transaction() as connection:
        return await schedule_stores._fire(
            connection, schedule, plan.fires, jobs, trigger="schedule", actor="scheduler"
        )


MUTANTS: dict[str, Mutant] = {
    "complete_without_fence": Mutant(
        "a completion asks only whether the job runs, not under which epoch",
        sql("jobs/complete", FENCE, RUNNING),
    ),
    "settle_without_fence": Mutant(
        "any other outcome asks only whether the job runs", sql("jobs/settle", FENCE, RUNNING)
    ),
    "fence_by_attempt": Mutant(
        "the attempt number, which can come twice, serves as the fence",
        both(
            sql(
                "jobs/complete",
                FENCE,
                f"AND job.attempt = given.attempt\n  {RUNNING}",
                ("value json}", "value json, attempt int}"),
            ),
            method(ClaimStore, "_complete", complete_by_attempt),
        ),
    ),
    "renew_without_fence": Mutant("a renewal asks only for the job", sql("jobs/renew", FENCE, RUNNING)),
    "takeover_keeps_epoch": Mutant(
        "the rescuer takes a claim over without raising the epoch",
        sql("jobs/seize", "lease_epoch = job.lease_epoch + 2", "lease_epoch = job.lease_epoch"),
    ),
    "retry_resets_epoch": Mutant(
        "a failed attempt sets the epoch back",
        sql("jobs/settle", "lease_epoch = job.lease_epoch + 1", "lease_epoch = 0"),
    ),
    "lost_taken_for_done": Mutant(
        "a refused outcome is reported as stored", method(ClaimStore, "_reckon", believe_all_done)
    ),
    "repetition_taken_for_lost": Mutant(
        "an outcome that was stored by a first sending is reported as refused",
        method(ClaimStore, "_reckon", do_not_ask_who_settled),
    ),
    "settle_in_pieces": Mutant(
        "state, attempt, letter and audit line are written one after the other, without a transaction",
        method(ClaimStore, "_settle", settle_in_pieces),
    ),
    "key_in_pieces": Mutant(
        "the key and its job are stored without a transaction",
        method(EnqueuingStore, "enqueue_keyed", store_keyed_in_pieces),
    ),
    "transaction_in_pieces": Mutant(
        "what a handler writes in its transaction is committed before the completion",
        method(Completing, "finish", finish_in_pieces),
    ),
    "transaction_without_fence": Mutant(
        "a handler's transaction asks only whether the job runs",
        sql(
            "completing/complete",
            "AND job.lease_epoch = CAST(:epoch AS integer)",
            "AND job.state = 'running'\n  AND CAST(:epoch AS integer) > 0",
        ),
    ),
    "look_then_insert_key": Mutant(
        "whether a key is free is looked up before it is taken",
        method(enqueuing, "_reserve", look_then_reserve),
    ),
    "unknown_taken_for_failure": Mutant(
        "an enqueue whose reply was lost is reported as not stored",
        both(
            method(client_jobs, "until_certain", once_and_believe_the_worst),
            method(clients, "until_certain", once_and_believe_the_worst),
        ),
    ),
    "unknown_taken_for_success": Mutant(
        "an enqueue whose connection was lost is reported as stored",
        both(
            method(client_jobs, "until_certain", once_and_believe_the_best),
            method(clients, "until_certain", once_and_believe_the_best),
        ),
    ),
    "new_ids_when_repeated": Mutant(
        "an enqueue that is repeated makes new ids",
        method(client_jobs.Jobs, "_certainly", again_with_other_ids),
    ),
    "strays_kept": Mutant(
        "claims whose reply was lost are not given back", method(Fetcher, "_give_strays_back", nothing)
    ),
    "claim_cut_off_at_stop": Mutant(
        "a claim under way when the worker is stopped is cut off",
        method(Worker, "_shut_down", shut_down_without_the_claim),
    ),
    "rescue_without_grace": Mutant(
        "after a restart of the database every expired lease is taken over at once",
        method(Rescuer, "_distrust", lambda *_: None),
    ),
    "engine_on_handlers_loop": Mutant(
        "leases are renewed on the loop where handlers run", method(Worker, "_run_engine", _run_on_one_loop)
    ),
    "workers_clock": Mutant("leases follow the clock of the worker", trust_the_workers_clock),
    "no_poll": Mutant("workers rely on hints alone", method(Fetcher, "_poll", lambda _: 3600.0)),
    "promoted_early": Mutant(
        "jobs become available an hour before their time",
        sql("jobs/promote", "run_at <= {now}", "run_at <= {now} + CAST('1 hour' AS {interval})"),
    ),
    "death_without_letter": Mutant(
        "a dead job leaves no letter", sql("dead_letters/record", "WHERE TRUE", "WHERE FALSE")
    ),
    "cancel_overwrites": Mutant(
        "cancelling asks for no state",
        sql("jobs/cancel", "AND job.state IN ('scheduled', 'held', 'available')", ""),
    ),
    "resolved_twice": Mutant(
        "closing a dead job asks for no state", sql("dead_letters/resolve", "AND job.state = 'dead'", "")
    ),
    "dead_worker_claims": Mutant(
        "a worker that was given up for dead may claim", sql("jobs/claim", "AND state = 'alive'", "")
    ),
    "claim_beyond_limit": Mutant(
        "a claim takes as many as it finds", sql("jobs/claim", "LIMIT pair.number", "")
    ),
    "parents_counted_down": Mutant(
        "a parent's end counts one dependency of its child down, whichever that is",
        method(following, "_decide", count_one_down),
    ),
    "child_without_second_look": Mutant(
        "who stores a child does not look at its parents again",
        method(FlowStore, "enqueue", store_without_a_look),
    ),
    "ends_not_swept": Mutant(
        "nobody looks for ends that were not followed", method(FlowStore, "sweep", sweep_nothing)
    ),
    "wanted_parent_removed": Mutant(
        "retention removes a parent whose result a held job wants",
        sql("jobs/delete_finished", "AND child.state = 'held'", "AND child.state = 'nowhere'"),
    ),
    "permit_counter": Mutant(
        "permits are a counter, which every settlement counts down, the late ones too",
        sql(
            "permits/drop",
            "(limit_key, job_id, lease_epoch) IN (\n    SELECT given.limit_key, given.job_id, given.epoch",
            "limit_key IN (\n    SELECT given.limit_key",
        ),
    ),
    "takeover_without_permits": Mutant(
        "the rescuer takes claims over and leaves their permits", method(claims, "take_permits", nothing)
    ),
    "nobody_is_unparked": Mutant(
        "what waits for a permit is not let go on", sql("limits/unpark", "LIMIT given.room", "LIMIT 0")
    ),
    "mark_then_insert_cron": Mutant(
        "a schedule is moved on first, and its jobs are stored afterwards",
        method(ScheduleStore, "fire", mark_then_insert),
    ),
    "fire_without_compare": Mutant(
        "a schedule is moved on whatever has become of it since it was read",
        sql(
            "schedules/advance",
            "  AND version = :version\n  AND next_fire_at = :due\n  AND next_fire_at <= {now}\n",
            "",
        ),
    ),
    "lock_taken_from_the_living": Mutant(
        "a lock is taken over before it has run out",
        sql("locks/acquire", "WHERE lock.expires_at <= excluded.locked_at", "WHERE TRUE"),
    ),
}
