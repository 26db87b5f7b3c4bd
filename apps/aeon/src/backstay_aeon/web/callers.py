"""Who calls, what is theirs, and what they may write down as a time."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import datetime
from typing import Any
from uuid import UUID

from backstay import Job
from backstay.kit import Actor, not_found
from backstay_aeon.actions import submit
from backstay_aeon.domain.errors import BadRequest, Missing
from backstay_aeon.services import Services


def person(actor: Actor) -> UUID | None:
    """Whoever has logged in, by their id, or is behind a key, which has their id as its name."""
    for told in (actor.id, actor.name):
        with suppress(ValueError):
            return UUID(told)
    return None


def moment(text: str | None, field: str) -> datetime | None:
    """A moment as JSON has it; raises BadRequest for anything else, also for one without a time zone."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise BadRequest(
            f"{field} is a time with its zone, as in 2026-03-29T08:00:00Z, not {text!r}", field=field
        )
    return found


def object_of(text: str, field: str) -> dict[str, Any] | None:
    """A JSON object in the field of a form; None if it is empty, BadRequest for anything else."""
    if not text.strip():
        return None
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise BadRequest(f"{field} is not a JSON object", field=field)
    return found


async def own_job(services: Services, actor: Actor, job_id: str) -> Job:
    """A job of the caller's team; one of another team is as missing as none."""
    try:
        return await submit.job_of(services, job_id, UUID(actor.tenant))
    except Missing:
        raise not_found() from None


def team_shown(actor: Actor) -> UUID | None:
    """Whose dead letters a caller may see among the figures: those of all teams for operators, else their own."""
    return None if actor.may("operate") else UUID(actor.tenant)
