"""The worker behind the local provider: reads a request, computes on the object store, writes to the database."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import uuid4

import msgspec
from botocore.exceptions import BotoCoreError, ClientError
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from backstay_watchpoint.domain import calibration as rules
from backstay_watchpoint.domain.forecasts import SUCCESS_MARKER, Model, RunStatus, success_key
from backstay_watchpoint.domain.payloads import Coefficients, InferencePayload, TaskType, read_payload
from backstay_watchpoint.local import compute
from backstay_watchpoint.outside.clients import s3_client
from backstay_watchpoint.store.database import Database, insert_into
from backstay_watchpoint.store.tables import (
    calibration_candidates,
    calibration_coefficients,
    forecast_runs,
    verification_results,
)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Where the worker finds its data; the endpoints are tried in order."""

    database_url: str
    endpoints: tuple[str, ...]
    observation_bucket: str
    access_key: str = "local"
    secret_key: str = "local-secret"  # noqa: S105 - local servers check no key
    region: str = "us-east-1"

    @classmethod
    def from_environment(cls, given: Mapping[str, str] = os.environ) -> WorkerSettings:
        """Read PROVIDER_DATABASE_URL, PROVIDER_ENDPOINTS and OBSERVATION_BUCKET."""
        return cls(
            given["PROVIDER_DATABASE_URL"],
            tuple(given["PROVIDER_ENDPOINTS"].split(",")),
            given.get("OBSERVATION_BUCKET", "observations"),
        )


class MissingInput(Exception):
    """An object that a request names is in none of the stores."""


class ProviderWorker:
    """Runs requests one after another; what it cannot do it raises."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._clients: list[Any] = [
            s3_client(
                endpoint,
                region=settings.region,
                access_key=settings.access_key,
                secret_key=settings.secret_key,
                timeout=20,
                attempts=2,
            )
            for endpoint in settings.endpoints
        ]

    def use_database(self, url: str) -> None:
        """Write results to another database from now on."""
        self._settings = replace(self._settings, database_url=url)

    def run(self, given: Any, now: datetime) -> dict[str, Any]:
        """Do what a request asks and return the output that its status shows."""
        payload = read_payload(given)
        match payload.task_type:
            case TaskType.INFERENCE:
                return self._infer(payload)
            case TaskType.VERIFICATION:
                return {"results": asyncio.run(self._verify(payload, now))}
            case TaskType.CALIBRATION:
                return {"tiles": asyncio.run(self._calibrate(payload, now))}

    def _infer(self, payload: InferencePayload) -> dict[str, Any]:
        """Compute a forecast; one whose output is complete is kept unless a rebuild is forced."""
        if payload.options.mock_inference:
            self._write(success_key(payload.output_destination), b"")
            return {"places": 0, "is_mock": True}
        if not payload.options.force_rebuild and SUCCESS_MARKER in self._names(payload.output_destination):
            return {"places": 0, "is_kept": True}
        return {"places": compute.forecast(payload, self._read, self._write)}

    async def _verify(self, payload: InferencePayload, now: datetime) -> int:
        tiles = [
            key.removesuffix(".json")
            for key in self._names(payload.output_destination)
            if key.endswith(".json")
        ]
        results = compute.verify(payload, tiles, self._read)
        async with _opened(self._settings.database_url) as transaction:
            run_id = await transaction.scalar(
                select(forecast_runs.c.id)
                .where(forecast_runs.c.model == payload.model)
                .where(forecast_runs.c.run_timestamp == payload.run_timestamp)
            )
            for found in results:
                values = {
                    "forecast_run_id": run_id,
                    "location_id": found.location_id,
                    "variable": found.variable,
                    "metric": found.metric,
                    "tile_id": found.tile_id,
                    "value": found.value,
                    "computed_at": now,
                }
                await transaction.execute(
                    insert_into(transaction, verification_results)
                    .values(values)
                    .on_conflict_do_update(
                        index_elements=["forecast_run_id", "location_id", "variable", "metric"],
                        set_={"value": found.value, "computed_at": now},
                    )
                )
        return len(results)

    async def _calibrate(self, payload: InferencePayload, now: datetime) -> dict[str, str]:
        window = payload.input_config.calibration_time_range
        assert window is not None
        bucket = payload.output_destination.removeprefix("s3://").split("/")[0]
        done = {}
        async with _opened(self._settings.database_url) as transaction:
            rows = await transaction.execute(
                select(forecast_runs.c.run_timestamp, forecast_runs.c.storage_path)
                .where(forecast_runs.c.model == Model.NOWCAST)
                .where(forecast_runs.c.status == RunStatus.COMPLETE)
                .where(forecast_runs.c.id.in_(select(verification_results.c.forecast_run_id)))
                .where(forecast_runs.c.run_timestamp >= window.start)
                .where(forecast_runs.c.run_timestamp < window.end)
                .order_by(forecast_runs.c.run_timestamp)
            )
            runs = [(row.run_timestamp, f"s3://{bucket}/{row.storage_path}") for row in rows]
            for tile in payload.input_config.tiles:
                done[tile] = await self._calibrate_tile(transaction, tile, runs, now)
        return done

    async def _calibrate_tile(
        self, transaction: AsyncConnection, tile: str, runs: list[tuple[datetime, str]], now: datetime
    ) -> str:
        stored = await transaction.scalar(
            select(calibration_coefficients.c.coefficients).where(calibration_coefficients.c.tile_id == tile)
        )
        current = rules.DEFAULT if stored is None else msgspec.convert(stored, Coefficients)
        observations = f"s3://{self._settings.observation_bucket}/"
        points = compute.radar_points(runs, tile, self._read, observations=observations)
        proposed = rules.fit(points, current)
        found = rules.violations(current, proposed)
        if found:
            await transaction.execute(
                insert(calibration_candidates).values(
                    id=str(uuid4()),
                    tile_id=tile,
                    current_coefficients=msgspec.to_builtins(current),
                    proposed_coefficients=msgspec.to_builtins(proposed),
                    violation_reason="; ".join(violation.reason for violation in found),
                    created_at=now,
                )
            )
            return "candidate"
        values = {"coefficients": msgspec.to_builtins(proposed), "updated_at": now}
        await transaction.execute(
            insert_into(transaction, calibration_coefficients)
            .values(tile_id=tile, **values)
            .on_conflict_do_update(index_elements=["tile_id"], set_=values)
        )
        return "applied"

    def _read(self, path: str) -> bytes:
        bucket, key = _split(path)
        errors = []
        for client in self._clients:
            try:
                body: bytes = client.get_object(Bucket=bucket, Key=key)["Body"].read()
            except (ClientError, BotoCoreError) as error:
                errors.append(str(error))
            else:
                return body
        raise MissingInput(f"{path} cannot be read: {'; '.join(errors)}")

    def _write(self, path: str, body: bytes) -> None:
        bucket, key = _split(path)
        self._clients[0].put_object(Bucket=bucket, Key=key, Body=body)

    def _names(self, prefix: str) -> list[str]:
        bucket, key = _split(prefix)
        listed = self._clients[0].list_objects_v2(Bucket=bucket, Prefix=key)
        return [entry["Key"].removeprefix(key) for entry in listed.get("Contents", ())]


@asynccontextmanager
async def _opened(url: str) -> AsyncIterator[AsyncConnection]:
    """Open a transaction on a database of its own: each request runs on an event loop of its own."""
    database = Database(url)
    try:
        async with database.transaction() as transaction:
            yield transaction
    finally:
        await database.close()


def _split(path: str) -> tuple[str, str]:
    bucket, _, key = path.removeprefix("s3://").partition("/")
    return bucket, key
