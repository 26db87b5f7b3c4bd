"""Claiming under limits, once for both databases: look, lock the limits, count, decide, start and put aside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from backstay.model.job import Claim
from backstay.model.limits.admission import Candidate, Claimed, Decision, Usage, decide, spend
from backstay.model.limits.declared import ORDER, Bound, costing
from backstay.model.records import Wanted
from backstay.stores import rows
from backstay.stores.claims import rows as claim_rows
from backstay.stores.claims.plain import ALWAYS, Asked, asked_for, claim_plain
from backstay.stores.database.interface import Connection, Lane, Row

MOST_ROUNDS = 20
NEXT_ROUND = 100
"""After a round that put jobs aside this many are looked at, so that a long line for one key is soon out of the way."""

Pair = tuple[str, str]


async def claim_limited(
    lane: Lane,
    limited: Sequence[Wanted],
    plain: Sequence[Wanted],
    asked: Asked,
    *,
    limit: int,
    limited_limit: int,
) -> Claimed:
    """Up to `limit` jobs in order of turn, of them at most `limited_limit` of the limited pairs.

    Each round is a transaction of its own: one that locked more limits after others could wait for another forever.
    The first is also the last, and the only transaction, where no limited job waits.
    """
    claimed, pairs, number = Claimed(), list(limited), limited_limit
    for _ in range(MOST_ROUNDS):
        room = limited_limit - len(claimed.claims)
        if room < 1 or not pairs:
            break
        # At most as many suspects as asked for, of both sorts together.
        left = replace(asked, suspects=max(asked.suspects - _suspects(claimed), 0))
        async with lane.transaction() as connection:
            found = await _candidates_of(connection, pairs, left, number)
            if not found:
                rest = await claim_plain(connection, plain, left, limit=limit - len(claimed.claims))
                return replace(claimed, claims=[*claimed.claims, *rest])
            started, decision = await _choose(connection, found, pairs, plain, left, room=room)
        claimed = _after(claimed, started, decision)
        if not decision.parks and not decision.full:
            break
        pairs = [pair for pair in pairs if (pair.queue, pair.kind) not in decision.full]
        number = max(room - len(started), NEXT_ROUND if decision.parks else 0)
    left = replace(asked, suspects=max(asked.suspects - _suspects(claimed), 0))
    rest = await claim_plain(lane, plain, left, limit=limit - len(claimed.claims))
    return replace(claimed, claims=[*claimed.claims, *rest])


def _suspects(claimed: Claimed) -> int:
    return sum(claim.is_suspect for claim in claimed.claims)


def _after(claimed: Claimed, started: Sequence[Claim], decision: Decision) -> Claimed:
    return Claimed(
        claims=[*claimed.claims, *started],
        waits={**claimed.waits, **decision.full},
        left=claimed.left | {one.queue for one in decision.left},
        is_late=claimed.is_late or any(one.due is not None for one in decision.parks),
    )


async def _candidates_of(
    connection: Connection, pairs: Sequence[Wanted], asked: Asked, number: int
) -> Sequence[Row]:
    found = await connection.fetch(
        "limits/candidates",
        **asked_for(pairs),
        worker=asked.worker,
        limit=number,
        suspects=asked.suspects,
        since=ALWAYS,
    )
    return sorted(found, key=lambda row: (row["turn"], str(row["id"])))


async def _choose(
    connection: Connection,
    line: Sequence[Row],
    pairs: Sequence[Wanted],
    plain: Sequence[Wanted],
    asked: Asked,
    *,
    room: int,
) -> tuple[list[Claim], Decision]:
    room = await _without_rivals(connection, plain, line, room)
    candidates, bounds = _candidates(line, pairs)
    usage, at = await locked_usage(connection, bounds)
    candidates = await _with_heads(connection, candidates, line)
    decision = decide(candidates, usage, at=at, room=room)
    return await _carry_out(connection, decision, pairs, asked, at), decision


async def _without_rivals(
    connection: Connection, plain: Sequence[Wanted], line: Sequence[Row], room: int
) -> int:
    """How many of the slots are left to the limited jobs when all go in order of turn."""
    if not plain:
        return room
    found = await connection.fetch(
        "limits/rivals",
        queues=[pair.queue for pair in plain],
        kinds=[pair.kind for pair in plain],
        limit=room,
    )
    turns = sorted([(row["turn"], True) for row in found] + [(row["turn"], False) for row in line])
    return sum(not is_rival for _, is_rival in turns[:room])


def _candidates(line: Sequence[Row], pairs: Sequence[Wanted]) -> tuple[list[Candidate], dict[str, Bound]]:
    limits = {(pair.queue, pair.kind): pair.limits for pair in pairs}
    candidates = [
        Candidate(
            rows.job_id(row["id"]),
            row["queue"],
            row["kind"],
            limits[row["queue"], row["kind"]].of(rows.document(row["args"]), row["tenant"], row["order_key"]),
        )
        for row in line
    ]
    return candidates, {bound.key: bound for one in candidates for bound in one.bounds}


async def locked_usage(connection: Connection, bounds: dict[str, Bound]) -> tuple[dict[str, Usage], datetime]:
    """Lock limits and see how much of them is used; nobody else can change that until the transaction ends."""
    ordered = sorted(bounds.values(), key=lambda bound: bound.key)
    await connection.fetch_each(
        "limits/lock",
        [
            {
                "limit_key": bound.key,
                "number": bound.most,
                "step": bound.every,
                "yielding": bound.yields,
            }
            for bound in ordered
        ],
    )
    found = await connection.fetch_each("limits/usage", [{"limit_key": bound.key} for bound in ordered])
    if not found:
        return {}, rows.moment((await connection.fetch("limits/next_due"))[0]["now"])
    return {row["key"]: usage_of(row) for row in found}, rows.moment(found[0]["at"])


def usage_of(row: Row) -> Usage:
    """How much of a limit is used."""
    return Usage(row["in_use"], rows.moment(row["spent_until"]))


async def _with_heads(
    connection: Connection, candidates: list[Candidate], line: Sequence[Row]
) -> list[Candidate]:
    """The candidates, with those marked that an older job of their ordering key comes before."""
    asked = {
        row["order_key"]: bound.yields
        for row, one in zip(line, candidates, strict=True)
        for bound in one.bounds
        if bound.is_ordered and row["order_key"] is not None
    }
    if not asked:
        return candidates
    found = await connection.fetch_each(
        "limits/heads", [{"order_key": key, "yielding": yields} for key, yields in sorted(asked.items())]
    )
    heads = {row["order_key"]: None if row["id"] is None else rows.job_id(row["id"]) for row in found}
    return [
        replace(one, is_next=row["order_key"] not in heads or heads[row["order_key"]] in (None, one.id))
        for row, one in zip(line, candidates, strict=True)
    ]


async def _carry_out(
    connection: Connection,
    decision: Decision,
    pairs: Sequence[Wanted],
    asked: Asked,
    at: datetime,
) -> list[Claim]:
    claims = await _start(connection, decision, pairs, asked, at)
    await connection.fetch_each(
        "limits/spend", [{"limit_key": key, "until": until} for key, until in sorted(decision.spent.items())]
    )
    await connection.fetch_each(
        "limits/park",
        [
            {
                "job_id": one.id,
                "limit_key": one.key,
                "why": one.reason,
                "line": one.key.removeprefix(ORDER) if one.key.startswith(ORDER) else None,
            }
            for one in decision.parks
        ],
    )
    due = {one.key: one.due for one in decision.parks if one.due is not None}
    await connection.fetch_each(
        "limits/expect", [{"limit_key": key, "due": when} for key, when in sorted(due.items())]
    )
    return claims


async def _start(
    connection: Connection, decision: Decision, pairs: Sequence[Wanted], asked: Asked, at: datetime
) -> list[Claim]:
    numbers = {(pair.queue, pair.kind): pair for pair in pairs}
    starts = [
        {
            "job_id": one.id,
            "max_attempts": numbers[one.queue, one.kind].max_attempts,
            "timeout": numbers[one.queue, one.kind].timeout,
            "lease": numbers[one.queue, one.kind].lease,
            "at": at,
        }
        for one in decision.starts
    ]
    started = await connection.fetch_each(
        "limits/start", starts, worker=asked.worker, claim_id=asked.claim_id
    )
    found = claim_rows.claims(started, pairs, asked.worker)
    held = {one.id: tuple(b.key for b in one.bounds if not b.is_rate) for one in decision.starts}
    claims = [claim._replace(limits=held[claim.id]) for claim in found]
    await take_permits(connection, claims)
    return claims


async def spend_all(
    connection: Connection, bounds: Sequence[Bound], usage: Mapping[str, Usage], *, started: Sequence[Claim]
) -> None:
    """Take tokens for jobs that have just started, by a moment that is not before their start."""
    rates = [bound for bound in bounds if bound.is_rate]
    if not rates or not started:
        return
    at = rows.moment((await connection.fetch("limits/next_due"))[0]["now"])
    spent = []
    for bound in rates:
        until = usage[bound.key].spent_until
        for claim in started:
            # What it costs is in its arguments, which are read only where that matters.
            arguments = {} if bound.cost_of is None else rows.document(claim.args)
            until = spend(bound.every, until, at, most=bound.most, cost=costing(bound, arguments).cost)
        spent.append({"limit_key": bound.key, "until": until})
    await connection.fetch_each("limits/spend", spent)


async def take_permits(connection: Connection, claims: Sequence[Claim]) -> None:
    """Hold the permits of claims, under the epochs they have."""
    await connection.fetch_each("permits/take", permit_rows(claims))


def permit_rows(claims: Sequence[Claim]) -> list[dict[str, object]]:
    """A row for every permit of the claims."""
    return [
        {"limit_key": key, "job_id": claim.id, "epoch": claim.epoch}
        for claim in claims
        for key in claim.limits
    ]
