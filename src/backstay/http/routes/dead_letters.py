"""/dead-letters: jobs that are out of attempts or hopeless, until a person has decided."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed
from backstay.http.values.dead_letters import (
    DeadLetterGroupShown,
    DeadLetterLine,
    DeadLetterShown,
    Decided,
    Investigate,
    Many,
    Resolve,
    Retried,
    Retry,
    Version,
)

dead_letters = operations("dead_letters", prefix="/dead-letters")

Limit = Annotated[int, Query(ge=1, le=200)]
Name = Annotated[str | None, Query(max_length=128)]


@dead_letters.get("", summary="List open dead letters")
async def list_open(
    client: AsCaller, kind: Name = None, queue: Name = None, fingerprint: Name = None, limit: Limit = 100
) -> Listed[DeadLetterLine]:
    """List dead letters that nobody has closed, newest first."""
    found = await client.dead_letters.open(kind=kind, queue=queue, fingerprint=fingerprint, limit=limit)
    return Listed[DeadLetterLine](items=[DeadLetterLine.model_validate(one) for one in found])


@dead_letters.get("/groups", summary="Group open dead letters by cause")
async def groups(
    client: AsCaller, kind: Name = None, queue: Name = None, limit: Limit = 100
) -> Listed[DeadLetterGroupShown]:
    """Group dead letters that nobody has closed by their cause, the most frequent first."""
    found = await client.dead_letters.groups(kind=kind, queue=queue, limit=limit)
    return Listed[DeadLetterGroupShown](items=[DeadLetterGroupShown.model_validate(one) for one in found])


@dead_letters.post("/retry", summary="Retry many dead jobs")
async def retry_many(client: AsCaller, body: Many) -> Decided:
    """Retry every dead job that fits, oldest first; called again, it goes on with those that are left."""
    decided = await client.dead_letters.retry_all(body.filters(), reason=body.reason, limit=body.limit)
    return Decided.model_validate(decided)


@dead_letters.post("/resolve", summary="Close many dead jobs")
async def resolve_many(client: AsCaller, body: Many) -> Decided:
    """Close every dead job that fits without running it."""
    decided = await client.dead_letters.resolve_all(body.filters(), reason=body.reason, limit=body.limit)
    return Decided.model_validate(decided)


@dead_letters.get("/{job_id}", summary="List a job's deaths")
async def of_job(client: AsCaller, job_id: UUID) -> Listed[DeadLetterShown]:
    """List every death of one job, newest first, with its error."""
    found = await client.dead_letters.of_job(job_id)
    return Listed[DeadLetterShown](items=[DeadLetterShown.model_validate(one) for one in found])


@dead_letters.post("/{job_id}/retry", summary="Retry a dead job")
async def retry(client: AsCaller, job_id: UUID, body: Retry) -> Retried:
    """Run a dead job again with a fresh budget of attempts."""
    new_id = await client.dead_letters.retry(
        job_id,
        reason=body.reason,
        delay=body.delay or 0,
        version=body.version,
        args=body.args,
        as_new=body.as_new,
    )
    return Retried(job_id=new_id)


@dead_letters.post("/{job_id}/resolve", summary="Close a dead job")
async def resolve(client: AsCaller, job_id: UUID, body: Resolve) -> Done:
    """Close a dead job without running it, because the matter is settled."""
    await client.dead_letters.resolve(job_id, reason=body.reason, version=body.version)
    return Done(done=True)


@dead_letters.post("/{job_id}/ignore", summary="Ignore a dead job")
async def ignore(client: AsCaller, job_id: UUID, body: Resolve) -> Done:
    """Close a dead job without running it, because it does not matter."""
    await client.dead_letters.ignore(job_id, reason=body.reason, version=body.version)
    return Done(done=True)


@dead_letters.post("/{job_id}/investigate", summary="Take a dead job in hand")
async def investigate(client: AsCaller, job_id: UUID, body: Investigate) -> Version:
    """Say that the caller looks into a dead job; the letter stays open."""
    version = await client.dead_letters.investigate(job_id, note=body.note, version=body.version)
    return Version(version=version)
