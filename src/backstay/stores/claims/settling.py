"""What is written because of a settlement: the job's row, and what belongs to it, on whichever connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import msgspec

from backstay.model.fingerprints import fingerprint
from backstay.model.job import Claim, JobId
from backstay.model.outcome import ErrorInfo
from backstay.model.settlement import Settlement
from backstay.model.signals import Wait
from backstay.model.states import FINISHED, State
from backstay.stores import audit, misfits, rows, signals
from backstay.stores.database.interface import Connection, Row
from backstay.stores.reactions import react

_FAILURES = frozenset({"failed", "timeout", "crashed"})
_TOLD = tuple(of.name for of in fields(ErrorInfo))


def values_of(claim: Claim, settlement: Settlement) -> dict[str, Any]:
    """A settlement as the statement that writes it takes it."""
    return {
        "job_id": claim.id,
        "epoch": claim.epoch,
        "next_state": settlement.state.value,
        "next_reason": settlement.reason,
        "failure": _error_text(settlement.error),
        "refund": settlement.refund,
        "more_crashes": settlement.crashes,
        "in_row": int(settlement.crashes_in_row),
        "suspected": settlement.is_suspect,
        # Straight back to the front: a time in the past keeps the turn it had.
        "run_in": settlement.run_in,
        "attempts_allowed": settlement.max_attempts,
        "next_timeout": settlement.timeout,
        "is_end": settlement.state in FINISHED,
    }


def _error_text(error: ErrorInfo | None) -> str | None:
    if error is None:
        return None
    return msgspec.json.encode(_told(error)).decode()


def _told(error: ErrorInfo) -> dict[str, Any]:
    # Not by `asdict`, which copies what it finds and takes ten times as long.
    told = ((name, getattr(error, name)) for name in _TOLD)
    return {name: value for name, value in told if value not in (None, "", {})}


@dataclass(frozen=True, slots=True)
class Written:
    """What became of settlements: the rows that were written, and what follows from those that ended."""

    found: Sequence[Row]
    ended: Sequence[JobId]
    queues: frozenset[str]


async def write(connection: Connection, settlements: Sequence[tuple[Claim, Settlement]]) -> Written:
    """Settle the claims that still hold, with everything that belongs to it, in one transaction."""
    found = await connection.fetch_each("jobs/settle", [values_of(*pair) for pair in settlements])
    done = {rows.job_id(row["id"]) for row in found}
    written = [pair for pair in settlements if pair[0].id in done]
    await _move(connection, written)
    stopped = await _record(connection, written)
    queues = await react(connection, [*found, *stopped])
    ended = {claim.id for claim, settlement in written if settlement.state in FINISHED}
    return Written(found, sorted(ended | {rows.job_id(row["id"]) for row in stopped}), frozenset(queues))


async def _move(connection: Connection, settled: Sequence[tuple[Claim, Settlement]]) -> None:
    """Let jobs wait in another queue; a statement of its own, because hardly any do."""
    moves = [
        {"job_id": claim.id, "queue": settlement.queue, "kind": claim.kind}
        for claim, settlement in settled
        if settlement.queue is not None
    ]
    if moves:
        routes = sorted({(move["queue"], move["kind"]) for move in moves})
        await connection.fetch_each(
            "kinds/add_route", [{"queue": queue, "kind": kind} for queue, kind in routes]
        )
        await connection.fetch_each("jobs/move", moves)


async def _record(connection: Connection, settled: Sequence[tuple[Claim, Settlement]]) -> Sequence[Row]:
    """Write what belongs to a settlement, in its transaction; returns the jobs that were stopped on request."""
    await connection.fetch_each(
        "attempts/record",
        [
            {
                "job_id": claim.id,
                "epoch": claim.epoch,
                "refund": settlement.refund,
                "status": settlement.attempt_status,
                "failure": _error_text(settlement.error),
            }
            for claim, settlement in settled
        ],
    )
    await _await_signals(connection, [(claim.id, settlement.wait) for claim, settlement in settled])
    await _await_other_code(connection, settled)
    going_on = [{"job_id": claim.id} for claim, settlement in settled if settlement.state not in FINISHED]
    cancelled = await connection.fetch_each("jobs/apply_cancel_request", going_on)
    stopped = {rows.job_id(row["id"]) for row in cancelled}
    dead = [_letter(claim, settlement) for claim, settlement in settled if settlement.state is State.DEAD]
    await connection.fetch_each("dead_letters/record", dead)
    failures = [pair for pair in settled if pair[1].attempt_status in _FAILURES]
    await audit.record(
        connection, [_failure_line(*pair, is_stopped=pair[0].id in stopped) for pair in failures]
    )
    return cancelled


async def _await_signals(connection: Connection, waits: Sequence[tuple[JobId, Wait | None]]) -> None:
    """Note what jobs are held for, and let those go on at once whose signal came while they ran."""
    expected = [(job_id, wait) for job_id, wait in waits if wait is not None]
    if expected:
        await signals.expect(connection, expected)


async def _await_other_code(connection: Connection, settled: Sequence[tuple[Claim, Settlement]]) -> None:
    refused = [(claim, settlement.refusal) for claim, settlement in settled if settlement.refusal is not None]
    if refused:
        await misfits.note(connection, refused)


def _letter(claim: Claim, settlement: Settlement) -> dict[str, Any]:
    error = None if settlement.error is None else _told(settlement.error)
    cause = fingerprint(claim.kind, settlement.reason or "", error)
    return {"job_id": claim.id, "epoch": claim.epoch, "cause": cause}


def _failure_line(claim: Claim, settlement: Settlement, *, is_stopped: bool) -> audit.Line:
    error = settlement.error
    return audit.Line(
        tenant=claim.tenant,
        actor=claim.worker,
        action=f"job.{settlement.attempt_status}",
        job_id=claim.id,
        from_state=State.RUNNING.value,
        to_state=State.CANCELLED.value if is_stopped else settlement.state.value,
        reason=settlement.reason,
        details={"attempt": claim.attempt, "error_class": error.error_class if error else None},
    )
