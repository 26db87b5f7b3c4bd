"""Jobs of our own, which every worker reads: archives every night, schedules that plain SQL has changed."""

from __future__ import annotations

from uuid import UUID

from backstay import Backstay
from backstay_aeon.actions import archive, schedules
from backstay_aeon.services import Services

QUEUE = "watching"
OWN_KINDS = ("archive_jobs", "sync_schedule")


def register(app: Backstay, services: Services) -> None:
    """Register the kinds; they carry no payload of anybody."""

    async def sync_schedule(schedule_id: UUID, team_id: UUID | None = None) -> str:
        return await schedules.sync(services, schedule_id, team_id)

    async def archive_jobs() -> list[str]:
        days = await archive.archive(services)
        await archive.tidy(services)
        return days

    archiver = app.job(kind="archive_jobs", queue=QUEUE, timeout="1h")(archive_jobs)
    app.schedule("20 3 * * *", overlap="skip")(archiver)
    services.handlers["sync_schedule"] = app.job(kind="sync_schedule", queue=QUEUE)(sync_schedule)
