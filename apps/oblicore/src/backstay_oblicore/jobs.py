"""The application's jobs: every kind registered, every schedule declared; nothing is opened on import."""

from __future__ import annotations

from typing import Any

from backstay import Backstay
from backstay_oblicore.domain.registry import JOB_TYPES
from backstay_oblicore.handlers import (
    aer_generation,
    audit_pack_generation,
    consultant_client_sync,
    cross_sell_trigger_detection,
    dead_letters,
    deadline_alert,
    delivery,
    document_processing,
    evidence_reminder,
    excel_import_processing,
    monitoring_schedule,
    pack_distribution,
    permit_renewal_reminder,
    run_hour_monitoring,
    sampling_schedule,
)
from backstay_oblicore.profile import PROFILE
from backstay_oblicore.services import Services
from backstay_oblicore.settings import Settings
from backstay_oblicore.store.database import Database

ZONE = "Europe/London"
QUEUE_LIMIT = 10
CEILING = 50
MODULES = (
    monitoring_schedule,
    deadline_alert,
    evidence_reminder,
    document_processing,
    excel_import_processing,
    sampling_schedule,
    run_hour_monitoring,
    aer_generation,
    permit_renewal_reminder,
    cross_sell_trigger_detection,
    audit_pack_generation,
    pack_distribution,
    consultant_client_sync,
    dead_letters,
)


def build(settings: Settings) -> Services:
    """Put the application together: engine, tables, parts, kinds, schedules."""
    app = Backstay(settings.database_url, profile=PROFILE)
    services = Services(settings, app, Database(settings.database_url))
    for module in MODULES:
        services.handlers[module.KIND] = module.register(services)
    services.handlers["DELIVER_NOTIFICATION"] = delivery.register(services)
    services.handlers["SEND_DIGEST"] = delivery.register_digest(services)
    services.handlers["SEND_DIGESTS"] = delivery.register_digests(services)
    services.handlers["DELIVER_PACK"] = pack_distribution.register_delivery(services)
    for queue in sorted({job.queue for job in JOB_TYPES.values()}):
        app.queue(queue, limit=QUEUE_LIMIT)
    app.ceiling(CEILING)
    declare_schedules(app, services.handlers)
    return services


def declare_schedules(app: Backstay, handlers: dict[str, Any]) -> None:
    """Let the cron kinds fire at their times; a fire that was missed is made up for once."""
    for job in JOB_TYPES.values():
        if job.cron:
            app.schedule(job.cron, zone=ZONE, overlap="skip", **_arguments(job.name))(handlers[job.name])
    app.schedule("0 * * * *", zone=ZONE, overlap="skip")(handlers["SEND_DIGESTS"])
    app.schedule(every="1m", overlap="skip")(handlers[dead_letters.KIND])


def _arguments(kind: str) -> dict[str, Any]:
    return {"args": {"sync_type": "FULL"}} if kind == "CONSULTANT_CLIENT_SYNC" else {}
