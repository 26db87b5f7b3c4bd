"""Jobs that wait for a worker whose code their arguments fit, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from backstay.model.fingerprints import fingerprint
from backstay.model.job import Claim, JobId
from backstay.model.misfits import ARGUMENTS_DO_NOT_FIT, Refusal, pause_after
from backstay.model.states import State
from backstay.stores import audit, rows
from backstay.stores.database.interface import Connection, Row
from backstay.stores.reactions import react


async def note(connection: Connection, refused: Sequence[tuple[Claim, Refusal]]) -> None:
    """Note what held jobs did not fit, and how long each waits at least. The caller has their rows locked."""
    jobs = [{"job_id": claim.id} for claim, _ in refused]
    before = {
        rows.job_id(row["job_id"]): (row["attempt"], row["times"])
        for row in await connection.fetch_each("misfits/known", jobs)
        # One that was given up and retried since begins anew.
        if not row["is_over"]
    }
    await connection.fetch_each("misfits/note", [_values(*one, before.get(one[0].id)) for one in refused])
    signatures = [{"job_id": claim.id, "signature": refusal.signature} for claim, refusal in refused]
    await connection.fetch_each("misfits/refuse", signatures)


async def forget(connection: Connection, job_id: JobId) -> None:
    """Forget what a job did not fit: its arguments are others now."""
    await connection.fetch("misfits/forget_signatures", id=job_id)
    await connection.fetch("misfits/forget", id=job_id)


async def go_on(connection: Connection, *, limit: int) -> tuple[list[str], Sequence[Row], set[str]]:
    """Release refused jobs that a living worker may fit, and give up those that have waited long enough.

    Returns the queues of those released, the rows of those given up, and the queues of what follows from these.
    """
    ripe = await connection.fetch("misfits/ripe", limit=limit)
    await connection.fetch_each("misfits/close", [{"job_id": row["job_id"]} for row in ripe])
    waiting = [row for row in ripe if row["is_waiting"]]
    released = await connection.fetch_each(
        "jobs/release", [_job(row) for row in waiting if not row["is_over"]]
    )
    dead = await connection.fetch_each("misfits/give_up", [_job(row) for row in waiting if row["is_over"]])
    await connection.fetch_each("dead_letters/record", [_letter(row) for row in dead])
    await audit.record(connection, [_line(row) for row in dead])
    return [row["queue"] for row in released], dead, await react(connection, dead)


def _job(row: Row) -> dict[str, Any]:
    return {"job_id": row["job_id"]}


def _values(claim: Claim, refusal: Refusal, before: tuple[int, int] | None) -> dict[str, Any]:
    # The attempt is given back, so a job that has not run in between comes with the same number.
    times = 1 if before is None or before[0] != claim.attempt else before[1] + 1
    return {
        "job_id": claim.id,
        "kind": claim.kind,
        "attempt": claim.attempt,
        "times": times,
        "pause": pause_after(times),
        "wait_for": refusal.wait_for,
    }


def _letter(row: Row) -> dict[str, Any]:
    cause = fingerprint(row["kind"], ARGUMENTS_DO_NOT_FIT, rows.document(row["error"]))
    return {"job_id": row["id"], "epoch": row["lease_epoch"], "cause": cause}


def _line(row: Row) -> audit.Line:
    return audit.Line(
        tenant=row["tenant"],
        actor="maintenance",
        action="job.given_up",
        job_id=rows.job_id(row["id"]),
        from_state=State.HELD.value,
        to_state=State.DEAD.value,
        reason=ARGUMENTS_DO_NOT_FIT,
    )
