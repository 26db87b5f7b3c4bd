"""The demonstration's weather: what the buckets hold, and the forecasts of the days before."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert

from backstay_watchpoint.demo.seed import name_of
from backstay_watchpoint.domain import layouts, payloads
from backstay_watchpoint.domain.forecasts import SUCCESS_MARKER, Model, RunStatus, output_prefix
from backstay_watchpoint.domain.verification import observation_keys, valid_times
from backstay_watchpoint.local import compute
from backstay_watchpoint.local.world import World
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.tables import forecast_runs

TILES = {"1.0": 1.09, "2.6": 1.22}
NOWCAST_STEP = timedelta(minutes=30)
DAY = timedelta(days=1)


def upstream(world: World, day: datetime) -> dict[str, bytes]:
    """Return what NOAA holds of one day, all sources together."""
    held = world.upstream_objects(day, day + DAY - timedelta(minutes=20), nowcast_step=NOWCAST_STEP)
    return {key: body for objects in held.values() for key, body in objects.items()}


def put_all(client: Any, bucket: str, objects: dict[str, bytes]) -> None:
    """Store many objects at a time."""
    with ThreadPoolExecutor(6) as pool:
        list(
            pool.map(
                lambda item: client.put_object(Bucket=bucket, Key=item[0], Body=item[1]), objects.items()
            )
        )


def verified_runs(day: datetime) -> list[tuple[Model, datetime]]:
    """Return the runs that the verification of a day at 03:00 finds: a day to two days before."""
    end = day + timedelta(hours=3) - DAY
    nowcasts = [(Model.NOWCAST, end - DAY + number * timedelta(hours=2)) for number in range(12)]
    return [*nowcasts, *((Model.MEDIUM_RANGE, day - DAY - timedelta(hours=6 * step)) for step in range(1, 3))]


def forecast_of(world: World, model: Model, at: datetime) -> dict[str, bytes]:
    """Compute a forecast's output as the provider would have, by its own code."""
    written: dict[str, bytes] = {}
    if model is Model.NOWCAST:
        sources = {layouts.goes_key(at): world.goes(at), layouts.mrms_key(at): world.mrms(at)}
    else:
        pairs = zip(layouts.GFS_HOURS, layouts.gfs_keys(at), strict=True)
        sources = {key: world.gfs(at, hour) for hour, key in pairs}
    payload = payloads.inference(model, at, output_prefix(model, at), list(sources))
    compute.forecast(payload, sources.__getitem__, written.__setitem__)
    return written


def observations(world: World, runs: list[tuple[Model, datetime]]) -> dict[str, bytes]:
    """Return what the stations saw, for each moment that the runs speak of."""
    return {
        key: world.observed(at)
        for model, run in runs
        for key, at in zip(observation_keys(model, run), valid_times(model, run), strict=True)
    }


async def seed_forecasts(
    database: Database, client: Any, bucket: str, world: World, day: datetime
) -> dict[str, int]:
    """Store fourteen days of runs: those to verify with their output, old ones to delete, others as rows."""
    to_verify = verified_runs(day)
    old = [(Model.NOWCAST, day - timedelta(days=7, hours=12 * step)) for step in range(1, 14)]
    others = [(Model.NOWCAST, day - timedelta(days=3, hours=6 * step)) for step in range(8)]
    objects: dict[str, bytes] = {}
    for model, at in to_verify:
        objects |= forecast_of(world, model, at)
    for model, at in old:
        objects |= {
            f"{output_prefix(model, at)}{name}": b"old" for name in ("1.0.json", "2.6.json", SUCCESS_MARKER)
        }
    put_all(client, bucket, objects)
    rows = [_row(number, model, at) for number, (model, at) in enumerate([*to_verify, *old, *others])]
    # The newest rows of each model say where the poller goes on.
    rows += [_row(900 + number, model, day - timedelta(minutes=1)) for number, model in enumerate(Model)]
    async with database.transaction() as transaction:
        await transaction.execute(insert(forecast_runs), rows)
    return {"to_verify": len(to_verify), "old": len(old)}


def _row(number: int, model: Model, at: datetime) -> dict[str, Any]:
    return {
        "id": name_of("run", number),
        "model": model,
        "run_timestamp": at,
        "status": RunStatus.COMPLETE,
        "external_id": f"seeded-{number}",
        "submitted_at": at,
        "finished_at": at + timedelta(minutes=4),
        "storage_path": output_prefix(model, at),
        "source_paths": [],
        "created_at": at,
    }
