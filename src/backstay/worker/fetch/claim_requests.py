"""Which jobs a worker asks for, and how many, where queues or kinds have limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from backstay.model.batch import Batching
from backstay.model.records import Wanted


@dataclass(frozen=True, slots=True)
class Asks:
    """What a worker asks for now: which pairs, how many of a queue it may hold, and which kinds run in batches."""

    wanted: tuple[Wanted, ...]
    per_queue: Mapping[str, int] = field(default_factory=dict)
    batched: Mapping[str, Batching] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """Pairs that are asked for together: at most `limit` jobs, of them at most `limited_limit` with limits."""

    plain: tuple[Wanted, ...]
    limited: tuple[Wanted, ...]
    limit: int
    limited_limit: int
    is_named: bool = False
    """Whether its one pair was named by a hint: only what is new is looked for."""

    @classmethod
    def of(cls, pairs: Sequence[Wanted], limit: int, *, limited_limit: int | None = None) -> ClaimRequest:
        """So many jobs of these pairs, with limits or without."""
        return cls(
            plain=tuple(pair for pair in pairs if not pair.limits),
            limited=tuple(pair for pair in pairs if pair.limits),
            limit=limit,
            limited_limit=limit if limited_limit is None else limited_limit,
        )

    @classmethod
    def named(cls, pair: Wanted, limit: int) -> ClaimRequest:
        """So many new jobs of a pair without limits."""
        return cls(plain=(pair,), limited=(), limit=limit, limited_limit=0, is_named=True)


def portions(
    wanted: Sequence[Wanted],
    *,
    room: int,
    free: int,
    per_queue: Mapping[str, int],
    in_hand: Mapping[str, int],
    turn: int = 0,
) -> list[ClaimRequest]:
    """What to ask for: everything at once, and apart from it each queue that is fair or limited on this worker.

    `free` are the slots that are free now; jobs with limits are never taken ahead of them, for they would keep others
    from running while they wait. `turn` says where to begin, so that no queue is always the last.
    """
    # A fair queue goes by the turns of its tenants, so its jobs cannot be put in order with others.
    fair = {pair.queue for pair in wanted if pair.fair is not None}
    apart = [queue for queue in dict.fromkeys(pair.queue for pair in wanted) if queue in {*per_queue, *fair}]
    groups = [([pair for pair in wanted if pair.queue not in apart], room)]
    groups += [
        (
            [pair for pair in wanted if pair.queue == queue],
            min(room, per_queue[queue] - in_hand.get(queue, 0)) if queue in per_queue else room,
        )
        for queue in apart
    ]
    first = turn % len(groups)
    ordered = [*groups[first:], *groups[:first]]
    return [
        ClaimRequest.of(pairs, limit, limited_limit=min(limit, free))
        for pairs, limit in ordered
        if pairs and limit > 0
    ]
