"""Dead letters: what a team reads of them, and what it decides."""

from __future__ import annotations

from typing import Any, Literal
from uuid import UUID

from backstay_aeon.services import Services

Decision = Literal["investigate", "retry", "resolve", "ignore"]
OF_TEAM = """
SELECT id, original_job_id, job_type, failure_reason, final_error_message, total_attempts, status, resolution_notes,
       created_at
FROM public.dead_letter_jobs WHERE team_id = $1 ORDER BY created_at DESC LIMIT 100
"""


async def of_team(services: Services, team_id: UUID) -> list[dict[str, Any]]:
    """The newest dead letters of a team, decided or not."""
    return await services.database.rows(OF_TEAM, team_id)


async def decide(services: Services, job_id: UUID, decision: Decision, *, by: str, notes: str) -> None:
    """Look into a letter, run its job again, or close it; raises WrongState for one that is not open."""
    letters = services.app.dead_letters
    if decision == "investigate":
        await letters.investigate(job_id, by=by, note=notes)
    elif decision == "retry":
        await letters.retry(job_id, by=by, reason=notes)
    elif decision == "resolve":
        await letters.resolve(job_id, by=by, reason=notes)
    else:
        await letters.ignore(job_id, by=by, reason=notes)
