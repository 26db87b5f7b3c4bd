"""The platform put together: its database, its jobs, and the clients of the outside parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from backstay import Backstay, Migrations
from backstay_watchpoint.domain.catalogue import TaskSpec, task_named, tasks_ticking
from backstay_watchpoint.domain.layouts import SourceId
from backstay_watchpoint.outside.clients import s3_client, sqs_client
from backstay_watchpoint.outside.mirrors import Mirror, MirroredUpstream
from backstay_watchpoint.outside.objects import S3Objects
from backstay_watchpoint.outside.payments import StripePayments
from backstay_watchpoint.outside.queues import SqsQueues
from backstay_watchpoint.outside.runpod import RunPod
from backstay_watchpoint.services.outside import Objects, Payments, Provider, Upstream
from backstay_watchpoint.settings import MirrorSetting, Settings
from backstay_watchpoint.store.database import Database

MIGRATIONS = Migrations("watchpoint", Path(__file__).parent / "store" / "migrations")


def system_clock() -> datetime:
    """Return the present moment; the only call of the clock beside the command line and local servers."""
    return datetime.now(UTC)


@dataclass(slots=True)
class Platform:
    """Everything that handlers, pages and commands share."""

    settings: Settings
    app: Backstay
    database: Database
    provider: Provider
    objects: Objects
    upstream: Upstream
    payments: Payments
    queues: SqsQueues
    clock: Callable[[], datetime] = system_clock

    @property
    def tasks(self) -> tuple[TaskSpec, ...]:
        """The tasks as this installation runs them."""
        return tasks_ticking(self.settings.digest_tick)

    def task_named(self, name: str) -> TaskSpec:
        """Return a task as this installation runs it; raises UnknownTask."""
        return task_named(name, self.tasks)

    async def close(self) -> None:
        """Close what the running event loop has open."""
        await self.app.close()
        await self.database.close()


def assemble(settings: Settings, *, clock: Callable[[], datetime] = system_clock) -> Platform:
    """Put the platform together; nothing is connected to yet."""
    aws: dict[str, Any] = {
        "region": settings.aws_region,
        "access_key": settings.aws_access_key,
        "secret_key": settings.aws_secret_key,
    }
    return Platform(
        settings=settings,
        app=Backstay(settings.database_url, migrations=MIGRATIONS),
        database=Database(settings.database_url),
        provider=RunPod(
            settings.runpod_url,
            settings.runpod_endpoint_id,
            settings.runpod_api_key,
            callback_url=settings.runpod_callback_url,
        ),
        objects=S3Objects(s3_client(settings.aws_endpoint_url, **aws)),
        upstream=MirroredUpstream(_mirrors(settings, aws)),
        payments=StripePayments(
            settings.stripe_secret_key or "missing",
            plans=settings.stripe_plans,
            base_url=settings.stripe_url,
        ),
        queues=SqsQueues(sqs_client(settings.aws_endpoint_url, **aws)),
        clock=clock,
    )


def _mirrors(settings: Settings, aws: dict[str, Any]) -> Mapping[SourceId, Sequence[Mirror]]:
    timeout = settings.forecast.mirror_timeout.total_seconds()

    def mirror(given: MirrorSetting) -> Mirror:
        endpoint = given.endpoint or settings.aws_endpoint_url
        client = s3_client(endpoint, **aws, timeout=timeout, attempts=1)
        return Mirror(given.name, client, given.bucket)

    return {
        source: tuple(mirror(given) for given in mirrors)
        for source, mirrors in settings.forecast.upstream_mirrors.items()
    }
