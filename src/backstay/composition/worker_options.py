"""What a worker can be asked to do, and what that means together with the settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypedDict

from backstay.model.text.durations import Duration, duration
from backstay.model.text.sizes import Size, megabytes
from backstay.settings.sources import Settings
from backstay.worker.process.pool import ProcessLimits


class WorkerFields(TypedDict, total=False):
    """What `app.worker()` and `app.working()` take; what is left out comes from the settings and the policy."""

    queues: Sequence[str] | None
    kinds: Sequence[str] | None
    concurrency: int | None
    worker_id: str | None
    worker_type: str
    shutdown_grace: Duration | None
    process_max_jobs: int | None
    process_max_memory: Size | None
    poll_busy: Duration | None
    poll_idle: Duration | None
    until_empty: bool
    max_memory: Size | None


@dataclass(frozen=True, kw_only=True)
class WorkerOptions:
    """What one worker is asked to do; None leaves it to the policy."""

    queues: tuple[str, ...] | None = None
    kinds: tuple[str, ...] | None = None
    concurrency: int | None = None
    id_template: str | None = None
    worker_type: str = "general"
    shutdown_grace: timedelta | None = None
    process_limits: ProcessLimits = field(default_factory=ProcessLimits)
    poll_busy: timedelta | None = None
    poll_idle: timedelta | None = None
    until_empty: bool = False
    max_memory_mb: int | None = None


def worker_options(asked: WorkerFields, settings: Settings) -> WorkerOptions:
    """What is asked for, completed by the settings."""
    unknown = asked.keys() - WorkerFields.__annotations__.keys()
    if unknown:
        raise TypeError(f"a worker takes no {', '.join(sorted(unknown))}")
    queues, kinds = asked.get("queues"), asked.get("kinds")
    return WorkerOptions(
        queues=settings.queues if queues is None else tuple(queues),
        kinds=settings.kinds if kinds is None else tuple(kinds),
        concurrency=asked.get("concurrency"),
        id_template=asked.get("worker_id") or settings.worker_id,
        worker_type=asked.get("worker_type", "general"),
        process_limits=_process_limits(asked.get("process_max_jobs"), asked.get("process_max_memory")),
        shutdown_grace=_length("shutdown_grace", asked.get("shutdown_grace")),
        poll_busy=_length("poll_busy", asked.get("poll_busy")),
        poll_idle=_length("poll_idle", asked.get("poll_idle")),
        until_empty=asked.get("until_empty", False),
        max_memory_mb=_megabytes("max_memory", asked.get("max_memory")),
    )


def _length(name: str, value: Duration | None) -> timedelta | None:
    return None if value is None else duration(value, field=name)


def _process_limits(jobs: int | None, memory: Size | None) -> ProcessLimits:
    return ProcessLimits(jobs, _megabytes("process_max_memory", memory))


def _megabytes(name: str, size: Size | None) -> int | None:
    return None if size is None else megabytes(size, field=name)
