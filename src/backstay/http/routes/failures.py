"""/failures: causes of death over time."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed, WithReason
from backstay.http.values.failures import FailureShown, NewOwner

failures = operations("failures")

Fingerprint = Annotated[
    str, Path(min_length=1, max_length=128, description="What the list has as fingerprint.")
]
Name = Annotated[str | None, Query(max_length=128)]
Last = Annotated[
    str,
    Query(
        max_length=40,
        pattern=r"^([1-9]\d{0,2}(m|h)|[1-8]?\d(d))$",
        description="A length of time, at most 89d: 30m, 24h, 7d.",
        examples=["24h"],
    ),
]


@failures.get("", summary="List failures over time")
async def list_failures(
    client: AsCaller,
    last: Last = "24h",
    kind: Name = None,
    queue: Name = None,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
) -> Listed[FailureShown]:
    """List the causes that jobs died of, with deaths an hour, whether they are new or have come back, and the owner."""
    found = await client.failures.all(last, kind=kind, queue=queue, limit=limit)
    return Listed[FailureShown](items=[FailureShown.model_validate(one) for one in found])


@failures.put("/{fingerprint}/owner", summary="Give a failure an owner")
async def assign_failure(client: AsCaller, fingerprint: Fingerprint, body: NewOwner) -> Done:
    """Say who looks after a cause."""
    await client.failures.assign(fingerprint, body.owner)
    return Done(done=True)


@failures.post("/{fingerprint}/close", summary="Close a failure")
async def close_failure(client: AsCaller, fingerprint: Fingerprint, body: WithReason) -> Done:
    """Say that a cause was dealt with: if it strikes again, it has regressed. Dead letters stay as they are."""
    await client.failures.close(fingerprint, reason=body.reason)
    return Done(done=True)
