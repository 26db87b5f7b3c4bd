"""Turns the rows of claimed jobs into claims."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

from backstay.model.job import Claim
from backstay.model.records import Wanted
from backstay.stores.database.interface import Row
from backstay.stores.rows import job_id, maybe_moment, span

# Where the answer to a claim has the turn and the id, and what it has of a plain job behind them.
_in_line = itemgetter(5, 0)
_PLAIN = [None] * 14
_NOBODYS = (None, None, None)


def claims(found: Sequence[Row], wanted: Sequence[Wanted], worker: str) -> list[Claim]:
    """New claims in order of turn.

    A row is what the part `claim` of a statement names, with only what is the job's own where the worker knows more.
    Thousands come every second, so they are taken apart by position.
    """
    by_pair = {(pair.queue, pair.kind): pair for pair in wanted}
    claims = []
    # RETURNING promises no order.
    for values in sorted([tuple(row.values()) for row in found], key=_in_line):
        known, kind, queue, args, attempt, turn, waited, *rare = values
        if not isinstance(known, UUID):
            known = job_id(known)
        pair = by_pair[queue, kind]
        most = pair.max_attempts if pair.max_attempts > attempt else attempt
        first = (known, 2 * attempt - 1, kind, queue, args, attempt, most, attempt, 0, False, pair.timeout)
        # Not Claim(…), which looks every one of them up by its name.
        claim = tuple.__new__(
            Claim, (*first, pair.lease, "", None, None, None, worker, (), turn, 0, *_NOBODYS, waited)
        )
        claims.append(claim if rare == _PLAIN else _with_rare(claim, *rare))
    return claims


def _with_rare(
    claim: Claim,
    epoch: int | None,
    run: int | None,
    crashes: int | None,
    is_suspect: Any,
    tenant: str | None,
    max_attempts: int | None,
    timeout: Any,
    lease: Any,
    policy: str | None,
    correlation_id: str | None,
    deadline: Any,
    created_by: str | None,
    tags: str | None,
    metadata: str | None,
) -> Claim:
    return claim._replace(
        epoch=epoch or claim.epoch,
        run=run or claim.run,
        crashes=crashes or 0,
        is_suspect=bool(is_suspect),
        tenant=tenant or "",
        max_attempts=claim.max_attempts if max_attempts is None else max(max_attempts, claim.attempt),
        timeout=claim.timeout if timeout is None else span(timeout),
        lease=claim.lease if lease is None else span(lease),
        policy=policy,
        correlation_id=correlation_id,
        deadline=maybe_moment(deadline),
        created_by=created_by,
        tags=tags,
        metadata=metadata,
    )


def held_claim(row: Row) -> Claim:
    """A claim as the job's row has it, whichever process made it."""
    return Claim(
        id=job_id(row["id"]),
        epoch=row["lease_epoch"],
        kind=row["kind"],
        queue=row["queue"],
        args=row["args"],
        attempt=row["attempt"],
        max_attempts=row["max_attempts"],
        run=row["run"],
        crashes=row["crashes"],
        is_suspect=bool(row["is_suspect"]),
        timeout=span(row["timeout"]),
        lease=span(row["lease"]),
        tenant=row["tenant"],
        policy=row["policy"],
        correlation_id=row["correlation_id"],
        deadline=maybe_moment(row["deadline"]),
        worker=row["worker"],
        turn_microseconds=row["turn_microseconds"],
        crashes_in_row=row["crashes_in_row"],
    )
