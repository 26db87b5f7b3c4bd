"""Why a job waits: what surrounds it, looked up, and the sentence for its team."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from backstay import Job
from backstay_aeon.domain import waiting
from backstay_aeon.services import Services

SILENCE = timedelta(seconds=30)
AHEAD = """
SELECT count(*) FROM backstay.jobs AS other JOIN backstay.jobs AS own ON own.id = $1
WHERE other.state = 'available' AND other.queue = own.queue AND other.tenant = own.tenant
  AND (other.turn, other.id) < (own.turn, own.id)
"""
# Counted here, because a worker tells only every few seconds how many it has.
RUNNING = "SELECT count(*) FROM backstay.jobs WHERE state = 'running' AND worker = ANY($1)"
PARENTS = "SELECT count(*) FROM backstay.dependencies WHERE job_id = $1 AND verdict IS NULL"


async def why(services: Services, job: Job) -> str:
    """Say in one sentence why a job waits, to the person who sent it."""
    workers, pauses = await services.app.workers.all(), await services.app.queues.pauses()
    able = [one for one in workers if can_take(one, job)]
    running = await services.database.value(RUNNING, [one.id for one in able])
    paused = next((one.reason for one in pauses if job.queue == one.queue or job.kind == one.kind), None)
    return waiting.why(
        waiting.Waiting(
            state=job.state.value,
            job_type=job.kind,
            reason=job.reason or "",
            attempt=job.attempt,
            run_at=job.run_at,
            worker=job.worker or "",
            is_worker_gone=not any(one.id == job.worker and is_alive(one) for one in workers),
            paused_because=paused,
            parents=await services.database.value(PARENTS, job.id),
            workers=len(able),
            free_slots=max(0, sum(one.concurrency for one in able) - running),
            own_ahead=await services.database.value(AHEAD, job.id),
        )
    )


def can_take(worker: Any, job: Job) -> bool:
    """Whether a worker is alive and looks for this type of job in its queue."""
    return is_alive(worker) and job.kind in worker.kinds and job.queue in worker.queues


def is_alive(worker: Any) -> bool:
    """Whether a worker claims jobs, as far as its last sign of life tells."""
    return worker.state == "alive" and bool(worker.silent_for <= SILENCE)
