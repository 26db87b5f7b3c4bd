"""What handlers remember and tell while they run, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backstay.model.job import Claim, JobId, NewStep, Progress, Step
from backstay.stores import rows
from backstay.stores.database.interface import Lane


@dataclass(frozen=True, slots=True)
class StepStore:
    """Remembers finished steps on one lane."""

    lane: Lane

    async def save(self, finished: Sequence[tuple[Claim, NewStep]]) -> frozenset[JobId]:
        # Rows are shared in the order of ids, as renewals and settlements take them.
        ordered = sorted(finished, key=lambda pair: pair[0].id)
        found = await self.lane.fetch_each(
            "steps/save",
            [
                {
                    "job_id": claim.id,
                    "epoch": claim.epoch,
                    "step": step.name,
                    "place": step.position,
                    "value": step.result,
                    "took": step.duration_ms,
                }
                for claim, step in ordered
            ],
        )
        saved = {rows.job_id(row["job_id"]) for row in found}
        return frozenset(claim.id for claim, _ in finished if claim.id not in saved)

    async def results(self, job_id: JobId) -> dict[str, str | None]:
        return {row["name"]: row["result"] for row in await self.lane.fetch("steps/of_job", id=job_id)}

    async def of_job(self, job_id: JobId) -> list[Step]:
        return [rows.step(row) for row in await self.lane.fetch("steps/of_job", id=job_id)]


@dataclass(frozen=True, slots=True)
class ProgressStore:
    """Keeps how far jobs have come on one lane."""

    lane: Lane

    async def write(self, told: Sequence[tuple[Claim, Progress]]) -> None:
        await self.lane.fetch_each(
            "progress/write",
            [
                {
                    "job_id": claim.id,
                    "epoch": claim.epoch,
                    "current": progress.current,
                    "total": progress.total,
                    "message": progress.message,
                }
                for claim, progress in told
            ],
        )
