"""run_task: the maintenance multiplexer's entry point; a job names the task and, if need be, its time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from backstay import Context, Handler
from backstay_watchpoint.multiplexer import Asked, Multiplexer
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.store.runs import Trigger

QUEUE = "maintenance"


def register(platform: Platform, multiplexer: Multiplexer) -> Handler[..., Any]:
    """Register the handler; a task that fails is not repeated, its next period or a person does that."""

    @platform.app.job(kind="run_task", queue=QUEUE, max_attempts=1, timeout="30m")
    async def run_task(
        ctx: Context,
        task: str,
        reference_time: datetime | None = None,
        trigger: str = Trigger.SCHEDULED,
        force: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Run one task under the lock of its period."""
        asked = Asked(task, reference_time, Trigger(trigger), force=force, dry_run=dry_run)
        return await multiplexer.run(ctx, asked)

    registered: Handler[..., Any] = run_task
    return registered
