"""Jobs of our own: alert rules every half minute, archives every night, schedules that plain SQL has changed."""

from __future__ import annotations

from uuid import UUID

from backstay import Backstay
from backstay_aeon.actions import archive, schedules, watch
from backstay_aeon.services import Services

QUEUE = "watching"
OWN_KINDS = ("archive_jobs", "sync_schedule", "watch_alerts")


def register(app: Backstay, services: Services) -> None:
    """Register the kinds; they carry no payload of anybody."""

    async def watch_alerts() -> list[str]:
        return await watch.look(services)

    async def sync_schedule(schedule_id: UUID, team_id: UUID | None = None) -> str:
        return await schedules.sync(services, schedule_id, team_id)

    async def archive_jobs() -> list[str]:
        return await archive.archive(services)

    archiver = app.job(kind="archive_jobs", queue=QUEUE, timeout="1h")(archive_jobs)
    app.schedule("20 3 * * *", overlap="skip")(archiver)
    watcher = app.job(kind="watch_alerts", queue=QUEUE, max_attempts=1)(watch_alerts)
    app.schedule(every="30s", overlap="skip", missed="skip")(watcher)
    services.handlers["watch_alerts"] = watcher
    services.handlers["sync_schedule"] = app.job(kind="sync_schedule", queue=QUEUE)(sync_schedule)
