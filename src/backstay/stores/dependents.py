"""Lets jobs go on whose parents have ended, once for both databases.

Idempotent: it reads what is open and decides that, so it may be done twice, late, or by several at once. It locks
nothing but held jobs, in the order of their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from backstay.errors import InvalidFlow, InvalidPayload
from backstay.handlers import codec
from backstay.model import flows
from backstay.model.flows import Dependency, Followed, Verdict
from backstay.model.job import JobId
from backstay.model.signals import held_reason
from backstay.model.states import State
from backstay.stores import audit, flow_rows, rows, signals
from backstay.stores.database.interface import Connection, Lane
from backstay.stores.reactions import react

AT_ONCE = 500
MOST_ROUNDS = 50
ACTOR = "flow"

_START = JobId(UUID(int=0))


async def follow(lane: Lane, job_ids: Iterable[JobId]) -> Followed:
    """Decide what the ends of these jobs mean for their children, and for the children of those that it cancels.

    After many rounds it stops: the regular sweep finds what is left.
    """
    pending, effects = sorted(set(job_ids)), _Effects()
    for _ in range(MOST_ROUNDS):
        if not pending:
            break
        ended, pending = pending[:AT_ONCE], pending[AT_ONCE:]
        pending += await _follow_batch(lane, ended, effects)
    return Followed(queues=frozenset(effects.queues), awaited=frozenset(effects.awaited))


@dataclass(slots=True)
class _Effects:
    """What has come of it so far."""

    queues: set[str] = field(default_factory=set)
    awaited: set[JobId] = field(default_factory=set)


async def _follow_batch(lane: Lane, ended: Sequence[JobId], effects: _Effects) -> list[JobId]:
    cancelled: list[JobId] = []
    after = _START
    while True:
        found = await lane.fetch("flows/concerned", ids=ended, after=after, limit=AT_ONCE)
        concerned = [rows.job_id(row["job_id"]) for row in found]
        if concerned:
            async with lane.transaction() as connection:
                cancelled += await _decide(connection, concerned, effects)
        if len(concerned) < AT_ONCE:
            return cancelled
        after = concerned[-1]


async def _decide(connection: Connection, concerned: Sequence[JobId], effects: _Effects) -> list[JobId]:
    held = {rows.job_id(row["id"]) for row in await connection.fetch("flows/lock_held", ids=concerned)}
    gone = [job_id for job_id in concerned if job_id not in held]
    if gone:
        await connection.fetch("flows/void", ids=gone)
    if not held:
        return []
    waiting = sorted(held)
    seen = await connection.fetch("flows/ended", ids=waiting)
    ended = [(flow_rows.dependency(row), State(row["state"]), row["result"]) for row in seen]
    verdicts = _Verdicts()
    for dependency, state, result in ended:
        verdicts.add(dependency, state, flows.decide(dependency, state, codec.decode(result or "null")))
    await connection.fetch_each("flows/decide", verdicts.values)
    cancelled = await _cancel(connection, verdicts.cancel, effects)
    others = [job_id for job_id in waiting if job_id not in cancelled]
    return cancelled + await _go_on(connection, others, verdicts, effects)


@dataclass(slots=True)
class _Verdicts:
    """What was decided now, by job."""

    values: list[dict[str, object]] = field(default_factory=list)
    cancel: dict[JobId, str] = field(default_factory=dict)
    kept: dict[JobId, str] = field(default_factory=dict)

    def add(self, dependency: Dependency, state: State, verdict: Verdict | None) -> None:
        reasons = self.cancel if verdict is Verdict.CANCEL else self.kept
        if verdict in (None, Verdict.CANCEL, Verdict.HOLD):
            reasons.setdefault(dependency.job_id, flows.why(dependency, state))
        if verdict is not None:
            self.values.append(
                {
                    "job_id": dependency.job_id,
                    "parent_id": dependency.parent_id,
                    "place": dependency.place,
                    "decided": verdict.value,
                }
            )


async def _cancel(connection: Connection, why: dict[JobId, str], effects: _Effects) -> list[JobId]:
    given = [{"job_id": job_id, "why": why[job_id]} for job_id in sorted(why)]
    found = await connection.fetch_each("jobs/cancel", given)
    cancelled = [rows.job_id(row["id"]) for row in found]
    if cancelled:
        await connection.fetch("flows/void", ids=cancelled)
    effects.awaited |= {rows.job_id(row["id"]) for row in found if row["is_awaited"]}
    lines = [
        audit.Line(
            tenant=row["tenant"],
            actor=ACTOR,
            action="job.cancel",
            job_id=rows.job_id(row["id"]),
            from_state=State.HELD.value,
            to_state=State.CANCELLED.value,
            reason=why[rows.job_id(row["id"])],
        )
        for row in found
    ]
    await audit.record(connection, lines)
    effects.queues |= await react(connection, found)
    return cancelled


async def _go_on(
    connection: Connection, job_ids: Sequence[JobId], verdicts: _Verdicts, effects: _Effects
) -> list[JobId]:
    """Release those that nothing keeps any more, say of the others why they wait; returns those it had to cancel."""
    if not job_ids:
        return []
    standing = await connection.fetch("flows/open_dependencies", ids=job_ids)
    free: list[JobId] = []
    said: list[dict[str, object]] = []
    for row in standing:
        job_id = rows.job_id(row["id"])
        if not row["is_waiting"] and not row["is_kept"]:
            free.append(job_id)
            continue
        # One that is kept for good says so; one that waits says which parent is dead, or that none is.
        reason = verdicts.kept.get(job_id, row["reason"] if row["is_kept"] else flows.WAITS)
        if reason != row["reason"]:
            said.append({"job_id": job_id, "why": reason})
    await connection.fetch_each("flows/set_reason", said)
    unfit = await _fill(connection, free) if free else {}
    cancelled = await _cancel(connection, unfit, effects)
    ready = [{"job_id": job_id} for job_id in await _signalled(connection, free) if job_id not in unfit]
    effects.queues |= {row["queue"] for row in await connection.fetch_each("jobs/release", ready)}
    return cancelled


async def _signalled(connection: Connection, job_ids: Sequence[JobId]) -> list[JobId]:
    """Those of some jobs that wait for no signal besides; the others say which it is."""
    missing = await signals.missing(connection, job_ids) if job_ids else {}
    said = [{"job_id": job_id, "why": held_reason(name)} for job_id, name in missing.items()]
    await connection.fetch_each("flows/set_reason", said)
    return [job_id for job_id in job_ids if job_id not in missing]


async def _fill(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, str]:
    """Put the parents' results where they belong; returns the jobs that these do not fit, with the reason."""
    given: dict[JobId, tuple[str, list[tuple[str, object]]]] = {}
    for row in await connection.fetch("flows/results", ids=job_ids):
        _, values = given.setdefault(rows.job_id(row["job_id"]), (row["args"], []))
        values.append((row["place"], codec.decode(row["result"] or "null")))
    filled, unfit = [], {}
    for job_id, (args, values) in given.items():
        try:
            text = codec.encode(flows.fill(codec.decode(args), values))
        except (InvalidFlow, InvalidPayload) as error:
            unfit[job_id] = f"the results of its parents do not fit its arguments: {error}"
        else:
            filled.append({"job_id": job_id, "new_args": text})
    await connection.fetch_each("flows/fill", filled)
    return unfit
