"""What jobs receive from outside and wait for, once for both databases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from backstay.errors import JobNotFound, SignalRefused
from backstay.model.job import JobId
from backstay.model.signals import MOST_SIGNALS, Mail, NewSignal, Sent, Signal, Wait, held_reason
from backstay.model.states import FINISHED, State
from backstay.stores import rows
from backstay.stores.database.interface import Connection, Lane, Row


@dataclass(frozen=True, slots=True)
class SignalStore:
    """Keeps signals on one lane."""

    lane: Lane

    async def send(self, signal: NewSignal) -> Sent:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("signals/addressee", id=signal.job_id)
            if not found:
                raise JobNotFound(signal.job_id)
            job = found[0]
            if job["state"] in FINISHED:
                raise SignalRefused(signal.job_id, signal.name, ended=job["state"])
            kept = await connection.fetch_each("signals/keep", [_values(signal)])
            if not kept:
                return Sent(is_new=False)
            if kept[0]["position"] > MOST_SIGNALS:
                raise SignalRefused(signal.job_id, signal.name, most=MOST_SIGNALS)
            # Whatever it has waited for was missing until now, so this one is it.
            if job["state"] != State.HELD or job["reason"] != held_reason(signal.name):
                return Sent(is_new=True)
            await connection.fetch_each("signals/close", [{"job_id": signal.job_id, "signal": signal.name}])
            await connection.fetch_each("jobs/release", [{"job_id": signal.job_id}])
            return Sent(is_new=True, queue=job["queue"])

    async def mail(self, job_id: JobId) -> Mail:
        received: dict[str, list[str | None]] = defaultdict(list)
        timed_out: dict[str, list[int]] = defaultdict(list)
        for row in await self.lane.fetch("signals/mail", id=job_id):
            if row["is_timeout"]:
                timed_out[row["name"]].append(row["place"])
            else:
                received[row["name"]].append(row["payload"])
        return Mail(dict(received), dict(timed_out))

    async def of_job(self, job_id: JobId) -> list[Signal]:
        return [_signal(row) for row in await self.lane.fetch("signals/of_job", id=job_id)]

    async def time_out(self, *, limit: int) -> list[str]:
        async with self.lane.transaction() as connection:
            late = sorted(
                await connection.fetch("signals/late", limit=limit), key=lambda row: str(row["job_id"])
            )
            over = [
                {
                    "job_id": row["job_id"],
                    "signal": row["name"],
                    "number": row["number"],
                    "is_over": bool(row["is_waiting"]),
                }
                for row in late
            ]
            await connection.fetch_each("signals/time_out", over)
            waiting = [{"job_id": row["job_id"]} for row in late if row["is_waiting"]]
            return [row["queue"] for row in await connection.fetch_each("jobs/release", waiting)]


async def expect(connection: Connection, waits: Sequence[tuple[JobId, Wait]]) -> None:
    """Note what held jobs wait for; those that have it already go on. The caller has their rows locked."""
    values = _expected(waits)
    # Released by hand it may have been answered while it ran, and its earlier wait is open still.
    await connection.fetch_each("signals/close", values)
    await connection.fetch_each("signals/expect", values)
    arrived = {rows.job_id(row["id"]) for row in await connection.fetch_each("signals/arrived", values)}
    going_on = [one for one in values if one["job_id"] in arrived]
    await connection.fetch_each("signals/close", going_on)
    await connection.fetch_each("jobs/release", going_on)


def _expected(waits: Sequence[tuple[JobId, Wait]]) -> list[dict[str, object]]:
    return [
        {
            "job_id": job_id,
            "signal": wait.name,
            "number": wait.number,
            "place": wait.position,
            "timeout": wait.timeout,
        }
        for job_id, wait in waits
    ]


async def note(connection: Connection, waits: Sequence[tuple[JobId, Wait]]) -> None:
    """Note what jobs wait for that are held for something else as well; nothing is released."""
    await connection.fetch_each("signals/expect", _expected(waits))


async def missing(connection: Connection, job_ids: Sequence[JobId]) -> dict[JobId, str]:
    """What some held jobs wait for that has not come, by job; waits for what has come are closed."""
    found = await connection.fetch("signals/open_waits", ids=list(job_ids))
    come = [{"job_id": row["job_id"], "signal": row["name"]} for row in found if row["has_come"]]
    await connection.fetch_each("signals/close", come)
    return {rows.job_id(row["job_id"]): row["name"] for row in found if not row["has_come"]}


def _values(signal: NewSignal) -> dict[str, object]:
    return {
        "job_id": signal.job_id,
        "signal": signal.name,
        "once": signal.key,
        "payload": signal.payload,
        "sender": signal.sent_by,
    }


def _signal(row: Row) -> Signal:
    return Signal(
        job_id=rows.job_id(row["job_id"]),
        name=row["name"],
        position=row["position"],
        key=row["key"],
        payload=rows.document(row["payload"]),
        sent_by=row["sent_by"],
        sent_at=rows.moment(row["sent_at"]),
    )
