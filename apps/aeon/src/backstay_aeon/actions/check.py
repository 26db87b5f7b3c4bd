"""The ten points of the validation list, each by its name."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from backstay_aeon import job_types
from backstay_aeon.domain.equivalents import EQUIVALENTS
from backstay_aeon.services import Services
from backstay_aeon.store.database import FIVE

WRITTEN = ("jobs", "job_dependencies", "job_schedules", "dead_letter_jobs")
TRIGGERS_OF = "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) AND NOT tgisinternal"
FUNCTIONS = ("get_ready_jobs", "check_dependencies_satisfied", "get_job_statistics")


async def points(services: Services) -> list[dict[str, Any]]:
    """Every point with whether it holds, and what was found."""
    found = []
    for name, look in POINTS:
        try:
            detail, holds = await look(services), True
        except Exception as error:  # whatever is wrong is the answer of this point
            detail, holds = str(error) or type(error).__name__, False
        found.append({"point": name, "holds": holds, "found": detail})
    return found


async def _redis_runs(services: Services) -> str:
    return f"version {await services.redis.version()}"


async def _redis_reached(services: Services) -> str:
    began = time.perf_counter()
    await services.redis.version()
    return f"answers after {(time.perf_counter() - began) * 1000:.1f} ms"


async def _tables(services: Services) -> str:
    rows = await services.database.rows("SELECT unnest($1::text[]) AS name", list(FIVE))
    for row in rows:
        if await services.database.value("SELECT to_regclass('public.' || $1)", row["name"]) is None:
            raise LookupError(f"{row['name']} is missing")
    return ", ".join(FIVE)


async def _functions(services: Services) -> str:
    for name in FUNCTIONS:
        if not await services.database.value("SELECT count(*) FROM pg_proc WHERE proname = $1", name):
            raise LookupError(f"the function {name} is missing")
    for view in WRITTEN:
        if not await services.database.value(TRIGGERS_OF, f"public.{view}"):
            raise LookupError(f"the triggers of {view} are missing")
    has_ossp = await services.database.value("SELECT count(*) FROM pg_extension WHERE extname = 'uuid-ossp'")
    ids = "uuid-ossp is there" if has_ossp else "ids by gen_random_uuid(), without uuid-ossp"
    return f"{', '.join(FUNCTIONS)}; triggers of {', '.join(WRITTEN)}; {ids}"


async def _indexes(services: Services) -> str:
    for name, ours in EQUIVALENTS.items():
        if (
            ours.kind == "index"
            and await services.database.value("SELECT to_regclass($1)", ours.object) is None
        ):
            raise LookupError(f"{ours.object}, which stands for {name}, is missing")
    return f"{sum(one.kind == 'index' for one in EQUIVALENTS.values())} equivalents are there"


class _Undo(Exception):
    """Leaves a transaction without keeping it."""


async def _insert(services: Services) -> str:
    made = None
    try:
        async with services.database.transaction() as connection:
            made = await connection.fetchval(
                "INSERT INTO public.jobs (job_type, payload) VALUES ('report_gen', '{\"report\": \"job_summary\"}')"
                " RETURNING id"
            )
            raise _Undo
    except _Undo:
        return f"job {made}, taken back"


async def _ready(services: Services) -> str:
    return f"{len(await services.database.rows('SELECT * FROM get_ready_jobs(5)'))} jobs are ready"


async def _scaffold(services: Services) -> str:
    return ", ".join(sorted(job_types.known()))


async def _worker_redis(services: Services) -> str:
    number = await services.redis.workers()
    if not number:
        raise LookupError("no worker gives a sign of life through Redis: start one with backstay-aeon worker")
    return f"{number} workers give a sign of life"


async def _worker_database(services: Services) -> str:
    alive = [one for one in await services.app.workers.all() if one.state == "alive"]
    if not alive:
        raise LookupError("no worker is registered: start one with backstay-aeon worker")
    return f"{len(alive)} workers are alive"


POINTS: tuple[tuple[str, Callable[[Services], Awaitable[str]]], ...] = (
    ("Redis runs", _redis_runs),
    ("Redis can be reached", _redis_reached),
    ("tables are there", _tables),
    ("functions and triggers are there", _functions),
    ("indexes are there", _indexes),
    ("a job can be inserted", _insert),
    ("ready jobs can be asked for", _ready),
    ("job types are registered", _scaffold),
    ("a worker can reach Redis", _worker_redis),
    ("a worker can reach PostgreSQL", _worker_database),
)
