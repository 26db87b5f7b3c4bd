"""The job types handed to the engine; nothing is opened on import."""

from __future__ import annotations

import importlib
import importlib.resources
from typing import Any
from uuid import UUID

from backstay import Backstay, Context, Migrations, PromotedField, References
from backstay_aeon import job_types
from backstay_aeon.files import Files
from backstay_aeon.handlers import (  # noqa: F401 - importing them makes their job types known
    data_import,
    file_processing,
    report_gen,
    undo_import,
    watching,
)
from backstay_aeon.job_types import Envelope
from backstay_aeon.profile import PROFILE
from backstay_aeon.redis_view import RedisView, dispatch_address
from backstay_aeon.services import Services
from backstay_aeon.settings import Settings
from backstay_aeon.store.database import Database

FOLDER = importlib.resources.files("backstay_aeon.store") / "migrations"
PROMOTED = (PromotedField("created_by", References("users.id"), type="uuid"), "job_category")


def build(settings: Settings) -> Services:
    """Put the service together."""
    for module in settings.handlers:
        importlib.import_module(module)
    dispatch = {"dispatch": dispatch_address(settings.redis_url)} if settings.redis_url else {}
    app = Backstay(
        settings.database_url, profile=PROFILE, migrations=Migrations("aeon", FOLDER), settings=dispatch
    )
    services = Services(
        settings, Database(settings.database_url), Files(settings), RedisView(settings.redis_url), app
    )
    for name, job_type in job_types.known().items():
        app.queue(job_type.queue, fair=True)
        app.queue(f"{job_type.queue}.urgent", fair=True)
        run = run_in_process if job_type.runs_in_process else run_here
        place: dict[str, Any] = {"runs_in": "process"} if job_type.runs_in_process else {}
        # Each kind runs the same function, which looks its type up by the kind of the job.
        services.handlers[name] = app.job(
            kind=name, queue=job_type.queue, promote=PROMOTED, **place, **job_type.policy
        )(run)
    watching.register(app, services)
    return services


async def run_here(
    ctx: Context, payload: dict[str, Any], created_by: UUID | None = None, job_category: str = "general"
) -> Any:
    """Run a job of any type by its own rules."""
    job_type = job_types.get(ctx.kind)
    try:
        job_type.validate(payload)
        return await job_type.execute(ctx, payload, Envelope(ctx.tenant, created_by, job_category))
    except Exception as error:
        await job_type.on_failure(ctx, payload, error)
        raise


async def run_in_process(
    ctx: Context, payload: dict[str, Any], created_by: UUID | None = None, job_category: str = "general"
) -> Any:
    """The same in a process of its own, which has connections of its own."""
    from backstay_aeon.services import here

    services = here()
    try:
        return await run_here(ctx, payload, created_by, job_category)
    finally:
        # The event loop of this attempt ends with it, and so do its connections.
        await services.database.close()
        await services.redis.close()
