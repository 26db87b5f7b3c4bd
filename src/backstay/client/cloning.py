"""Making a new job from one that is stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import UnknownKind
from backstay.handlers import codec
from backstay.handlers.spec import HandlerSpec
from backstay.model.job import Job, NewJob
from backstay.model.policy.policy import from_json
from backstay.options import JobOptions

CLONED_FROM = "cloned_from"
"""The entry of a clone's metadata that names the job it was made from."""


async def known_spec(enqueuer: Enqueuer, kind: str) -> HandlerSpec:
    """What is known of a stored job's kind, here or in the database; nothing is no reason to refuse."""
    try:
        return await enqueuer.spec_of(kind)
    except UnknownKind:
        return HandlerSpec(kind=kind)


async def clone_of(
    enqueuer: Enqueuer, job: Job, *, args: Mapping[str, Any] | None, delay: object, by: str
) -> NewJob:
    """A job like this one, with other arguments where they are given; keys, deadline and parent stay behind.

    A key stands for the first job, and a deadline or a parent was meant for it.
    """
    spec = await known_spec(enqueuer, job.kind)
    text = codec.encode(job.args) if args is None else spec.bind((), args)
    options = JobOptions(
        queue=job.queue,
        delay=delay,  # type: ignore[arg-type]  # checked as for an enqueue
        tenant=job.tenant or None,
        name=job.name,
        description=job.description,
        tags=list(job.tags) or None,
        metadata={**job.metadata, CLONED_FROM: str(job.id)},
        correlation_id=job.correlation_id,
        created_by=by,
        policy=from_json(codec.encode(job.policy)) if job.policy else None,
    )
    new = enqueuer.builder.build(spec, text, options)
    await enqueuer.add_routes([(new.queue, spec)])
    return new._replace(priority=job.priority)
