"""Waiting for jobs that a worker somewhere runs."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from backstay import State
from backstay_passport.services import Services

ENDED = (State.COMPLETED, State.DEAD, State.CANCELLED, State.RESOLVED)


def wait_for(services: Services, job_id: str, seconds: float) -> Any:
    """Return a job when it has ended, or as it is when the time is over."""
    end = time.monotonic() + seconds
    while True:
        job = services.app.sync.jobs.get(UUID(job_id))
        if job.state in ENDED or time.monotonic() > end:
            return job
        time.sleep(0.1)
