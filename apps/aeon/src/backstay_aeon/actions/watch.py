"""Looking after the service: metrics, alerts that fire once until they clear, uptime of workers."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import asyncpg

from backstay_aeon.domain import alerts, scaling, slo
from backstay_aeon.services import Services
from backstay_aeon.store import metrics

_log = logging.getLogger(__name__)
EVERY_SECONDS = 5.0
# One of all processes looks at a time; a row that is locked is looked at by another one just now.
TURN = """
UPDATE aeon.watch SET looked_at = clock_timestamp()
WHERE (SELECT TRUE FROM aeon.watch WHERE looked_at < clock_timestamp() - interval '4 seconds' FOR UPDATE SKIP LOCKED)
RETURNING TRUE
"""
UNNOTED = """
SELECT id FROM backstay.jobs AS job
WHERE state = 'available' AND NOT EXISTS (SELECT 1 FROM aeon.announced WHERE job_id = job.id)
ORDER BY id LIMIT 1000
"""
SPANS = """
INSERT INTO aeon.worker_spans (worker_id, type, started_at, last_seen_at, ended)
SELECT id, type, started_at, heartbeat_at,
       CASE state WHEN 'dead' THEN 'died' WHEN 'stopped' THEN 'retired' END
FROM backstay.workers
ON CONFLICT (worker_id) DO UPDATE SET last_seen_at = excluded.last_seen_at, ended = excluded.ended
"""


async def keep_watching(services: Services) -> None:
    """Look again and again until cancelled; every worker and the pages do, so that no one of them is needed."""
    while True:
        try:
            if await services.database.value(TURN):
                await look(services)
        except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            _log.warning("alert rules could not be looked at: %s", error)
        await asyncio.sleep(EVERY_SECONDS)


async def look(services: Services) -> list[str]:
    """Fire and clear alerts by the figures of now; return the names of those that hold."""
    await services.database.execute(SPANS)
    await note_announced(services)
    return await apply(services, await metrics.collect(services.database))


async def note_announced(services: Services) -> None:
    """Call jobs queued that Redis has heard of since they were stored: by plain SQL, or while it was slow."""
    if not services.redis.is_on:
        return
    rows = await services.database.rows(UNNOTED)
    told = await services.redis.which([row["id"] for row in rows])
    await services.database.execute(
        "INSERT INTO aeon.announced (job_id) SELECT unnest($1::uuid[]) ON CONFLICT DO NOTHING", told
    )


async def apply(services: Services, figures: dict[str, Any]) -> list[str]:
    """Fire what holds and is not open yet, clear what holds no more."""
    holding = alerts.firing(figures)
    names = [rule.name for rule in holding]
    async with services.database.transaction() as connection:
        await connection.execute(
            "UPDATE aeon.alerts SET cleared_at = clock_timestamp() WHERE cleared_at IS NULL AND NOT rule = ANY($1)",
            names,
        )
        for rule in holding:
            await connection.execute(
                "INSERT INTO aeon.alerts (rule, severity, message, action, figures) VALUES ($1, $2, $3, $4, $5)"
                " ON CONFLICT (rule) WHERE cleared_at IS NULL DO NOTHING",
                rule.name,
                rule.severity,
                rule.message,
                rule.action,
                {"queueDepths": figures["queueDepths"]},
            )
    return names


async def slos(services: Services) -> list[dict[str, Any]]:
    """The six promises with their verdicts."""
    return slo.verdicts(await metrics.slo_figures(services.database))


async def scale(services: Services, *, least: int = 1, most: int = 10) -> dict[str, Any]:
    """How many workers there should be; a change is remembered, so that the next one waits."""
    figures = await metrics.collect(services.database)
    alive = [worker for worker in figures["workerStatus"] if worker["alive"]]
    wait = await services.database.value(
        "SELECT coalesce(avg(extract(epoch FROM now() - run_at)), 0) FROM backstay.jobs WHERE state = 'available'"
    )
    since = await services.database.value(
        "SELECT extract(epoch FROM now() - max(at)) FROM aeon.scale_decisions WHERE workers <> desired"
    )
    cpu = [worker["cpu_percent"] or 0.0 for worker in alive]
    decision = scaling.decide(
        scaling.Load(
            workers=len(alive),
            pending=figures["queueDepths"]["pending"],
            average_wait_seconds=float(wait),
            cpu_percent=sum(cpu) / len(cpu) if cpu else 0.0,
            seconds_since_change=None if since is None else float(since),
        ),
        least=least,
        most=most,
    )
    await services.database.execute(
        "INSERT INTO aeon.scale_decisions (workers, desired, reason) VALUES ($1, $2, $3)",
        len(alive),
        decision.desired,
        decision.reason,
    )
    return {"workers": len(alive), "desired": decision.desired, "reason": decision.reason}
