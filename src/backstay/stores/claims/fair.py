"""Claims of queues whose tenants take turns, beside those of other queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from backstay.errors import StoreUnavailable
from backstay.model.job import Claim
from backstay.model.limits.admission import Claimed, Usage, next_token, room_under
from backstay.model.limits.declared import Bound
from backstay.model.limits.fairness import START, Fair, Place, place_after
from backstay.model.records import Wanted
from backstay.stores.claims import rows as claim_rows
from backstay.stores.claims.limited import locked_usage, spend_all, take_permits
from backstay.stores.claims.plain import Asked, asked_for, claim_plain, claim_suspects
from backstay.stores.database.interface import Connection, Lane

MORE_ROUNDS = 4
OLDEST_EVERY = 20
"""One claim in this many begins with the oldest job of a fair queue, whatever its tenant."""


@dataclass(slots=True)
class Rounds:
    """Where the round of each fair queue has come to, as far as this process claims from it.

    Every process goes round by itself: shared places would make all claims of a queue wait for one another.
    """

    places: dict[str, Place] = field(default_factory=dict)
    turn: int = 0


async def claim_with_fair(
    lane: Connection, wanted: Sequence[Wanted], asked: Asked, rounds: Rounds, *, limit: int
) -> list[Claim]:
    """Claim from fair queues and others; who is asked first changes, so that neither starves the other."""
    plain = [pair for pair in wanted if pair.fair is None]
    fair = [pair for pair in wanted if pair.fair is not None]
    queues = list(dict.fromkeys(pair.queue for pair in fair))
    rounds.turn += 1
    first = rounds.turn % (len(queues) + 1)
    order: list[str | None] = [None, *queues]
    claims: list[Claim] = []
    try:
        if rounds.turn % OLDEST_EVERY == 0:
            # Of any tenant: jobs without one take no part in the rounds, and must not wait forever.
            claims += await claim_plain(lane, fair, replace(asked, suspects=0), limit=min(limit, 1))
        for queue in [*order[first:], *order[:first]]:
            room = limit - len(claims)
            if queue is None:
                claims += await claim_plain(lane, plain, asked, limit=room)
            elif room > 0:
                pairs = [pair for pair in fair if pair.queue == queue]
                claims += await _claim_round(lane, queue, pairs, asked, rounds, limit=room)
        if len(claims) < limit:
            # Nothing of a tenant is left: what remains has none, or is suspected of killing its worker.
            claims += await claim_plain(lane, fair, asked, limit=limit - len(claims))
    except StoreUnavailable as error:
        # What may have been claimed is looked for by the id of this claim, and given back with those known here.
        if error.was_sent or not claims:
            raise
    return claims


async def claim_fair_limited(
    lane: Lane, pairs: Sequence[Wanted], asked: Asked, rounds: Rounds, *, limit: int
) -> Claimed:
    """Claim from fair queues whose jobs are under limits that all of them share: as many as there is room for.

    Such limits say how many may start and not which, so the tenants' turns are left to the ordinary claim.
    """
    groups: dict[tuple[Bound, ...], list[Wanted]] = {}
    for pair in pairs:
        groups.setdefault(pair.limits.shared, []).append(pair)
    claims: list[Claim] = []
    waits: dict[tuple[str, str], timedelta | None] = {}
    for bounds, group in groups.items():
        async with lane.transaction() as connection:
            usage, at = await locked_usage(connection, {bound.key: bound for bound in bounds})
            rooms = [room_under(bound.most, bound.every, usage[bound.key], at) for bound in bounds]
            if min(rooms) < 1:
                waits |= dict.fromkeys([(pair.queue, pair.kind) for pair in group], _wait(bounds, usage, at))
                continue
            room = min(limit - len(claims), *rooms)
            found = await _claim_at_most(connection, group, asked, rounds, limit=room) if room > 0 else []
            keys = tuple(bound.key for bound in bounds if not bound.is_rate)
            started = [claim._replace(limits=keys) for claim in found]
            await take_permits(connection, started)
            await spend_all(connection, bounds, usage, started=started)
        claims += started
    return Claimed(claims=claims, waits=waits)


async def _claim_at_most(
    connection: Connection, pairs: Sequence[Wanted], asked: Asked, rounds: Rounds, *, limit: int
) -> list[Claim]:
    """An ordinary claim has suspects beside its limit; here they count, and come first."""
    suspects = await claim_suspects(connection, pairs, asked)
    others = replace(asked, suspects=0)
    room = limit - len(suspects)
    return [*suspects, *await claim_with_fair(connection, pairs, others, rounds, limit=room)]


def _wait(bounds: Sequence[Bound], usage: Mapping[str, Usage], at: datetime) -> timedelta | None:
    """How long until a token comes; unknown where a permit is missing as well."""
    full = [bound for bound in bounds if room_under(bound.most, bound.every, usage[bound.key], at) < 1]
    if any(not bound.is_rate for bound in full):
        return None
    return max(next_token(bound.most, bound.every, usage[bound.key].spent_until, at) for bound in full)


async def _claim_round(
    lane: Connection, queue: str, pairs: Sequence[Wanted], asked: Asked, rounds: Rounds, *, limit: int
) -> list[Claim]:
    fair = pairs[0].fair or Fair()
    claims: list[Claim] = []
    # Where few tenants have many jobs, more rounds are asked for at once: a round each would be a statement each.
    number = 1
    while len(claims) < limit:
        place, room = rounds.places.get(queue, START), limit - len(claims)
        found = await _claim_from(lane, queue, pairs, asked, fair, place, number, limit=room)
        if not found:
            break
        claims += found
        number *= MORE_ROUNDS
        rounds.places[queue] = place_after(place, [claim.tenant for claim in found], fair)
    return claims


async def _claim_from(
    lane: Connection,
    queue: str,
    pairs: Sequence[Wanted],
    asked: Asked,
    fair: Fair,
    place: Place,
    number: int,
    *,
    limit: int,
) -> list[Claim]:
    found = await lane.fetch(
        "jobs/claim_fair",
        **asked_for(pairs),
        queue=queue,
        weighted=[tenant for tenant, _ in fair.weights],
        weights=[weight for _, weight in fair.weights],
        heaviest=max((weight for _, weight in fair.weights), default=1),
        rounds=number,
        since=place.tenant,
        spent=place.spent,
        worker=asked.worker,
        claim_id=asked.claim_id,
        limit=limit,
    )
    return claim_rows.claims(found, pairs, asked.worker)
