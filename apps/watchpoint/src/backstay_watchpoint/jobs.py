"""The platform's jobs: kinds, lanes and schedules, put together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from backstay import Handler, JobHandle
from backstay_watchpoint.domain.catalogue import POLL_DATA, TaskSpec
from backstay_watchpoint.handlers import (
    check_canaries,
    collect_results,
    deliver_message,
    note_undelivered,
    poll_data,
    publish_message,
    run_task,
)
from backstay_watchpoint.handlers.publish_message import JobPublisher
from backstay_watchpoint.multiplexer import Multiplexer
from backstay_watchpoint.platform import Platform, assemble, system_clock
from backstay_watchpoint.services.work import Publisher
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store.runs import Trigger


@dataclass(slots=True)
class Jobs:
    """The platform with its handlers."""

    platform: Platform
    publisher: Publisher
    run_task: Handler[..., Any]
    poll_data: Handler[..., Any]
    publish_message: Handler[..., Any]
    check_canaries: Handler[..., Any]
    deliver_message: Handler[..., Any]

    async def enqueue(
        self,
        task: TaskSpec,
        *,
        trigger: Trigger,
        reference_time: datetime | None = None,
        key: str | None = None,
        **given: Any,
    ) -> JobHandle[dict[str, Any]]:
        """Ask for one run of a task; `given` are `force`, `dry_run` or a poll's own arguments."""
        handler, named = self.handler_of(task)
        options = handler.options(name=task.name, tags=list(task.flows), key=key)
        return await options.enqueue(**named, reference_time=reference_time, trigger=trigger, **given)

    def handler_of(self, task: TaskSpec) -> tuple[Handler[..., Any], dict[str, Any]]:
        """Return the handler that runs a task, and the arguments that name it."""
        if task.name == POLL_DATA:
            return self.poll_data, {}
        return self.run_task, {"task": task.name}


def build(settings: Settings, *, clock: Callable[[], datetime] = system_clock) -> Jobs:
    """Register every kind and schedule; nothing is connected to yet."""
    platform = assemble(settings, clock=clock)
    undelivered = note_undelivered.register(platform)
    publish = publish_message.register(platform, on_failure=undelivered)
    canaries = check_canaries.register(platform, lambda: publisher)
    results = collect_results.register(platform, lambda: publisher)
    publisher: Publisher = JobPublisher(platform, publish=publish, canaries=canaries, results=results)
    multiplexer = Multiplexer(platform, publisher)
    jobs = Jobs(
        platform=platform,
        publisher=publisher,
        run_task=run_task.register(platform, multiplexer),
        poll_data=poll_data.register(platform, multiplexer),
        publish_message=publish,
        check_canaries=canaries,
        deliver_message=deliver_message.register(platform, on_failure=undelivered),
    )
    for task in platform.tasks:
        _schedule(jobs, task)
    return jobs


def _schedule(jobs: Jobs, task: TaskSpec) -> None:
    handler, named = jobs.handler_of(task)
    bound = handler.options(name=task.name, description=task.description, tags=list(task.flows))
    is_on = jobs.platform.settings.has_schedules
    jobs.platform.app.schedule(task.schedule, name=task.name, args=named, enabled=is_on)(bound)
