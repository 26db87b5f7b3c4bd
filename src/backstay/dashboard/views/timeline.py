"""What happened to one job, in order."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from backstay.kit.values import Entry, Tone
from backstay.kit.words import aware, duration_text
from backstay.model.job import Attempt, Job
from backstay.model.records import AuditEntry
from backstay.model.states import State

# Attempts tell of these with more detail.
TOLD_BY_ATTEMPTS = frozenset({"job.failed", "job.completed", "job.started"})
ATTEMPT_TONES: dict[str, Tone] = {
    "completed": "good",
    "running": "info",
    "failed": "bad",
    "crashed": "bad",
    "timed out": "bad",
    "cancelled": "muted",
}
ACTION_TONES: dict[str, Tone] = {"cancel": "muted", "resolve": "muted", "retry": "info", "hold": "warn"}
ENDED: dict[State, tuple[str, Tone]] = {
    State.COMPLETED: ("Completed", "good"),
    State.DEAD: ("Dead: needs a decision", "bad"),
    State.RESOLVED: ("Resolved without another run", "muted"),
    State.CANCELLED: ("Cancelled", "muted"),
}


def timeline_of(job: Job, runs: Sequence[Attempt], history: Sequence[AuditEntry]) -> list[Entry]:
    """Return everything that happened to a job, the oldest first."""
    entries = [
        Entry("Created", job.created_at, who=job.created_by or "", tone="accent"),
        *map(_of_attempt, runs),
        *(_of_action(entry) for entry in history if entry.action not in TOLD_BY_ATTEMPTS),
    ]
    entries.sort(key=lambda entry: aware(entry.at))
    if job.state in ENDED and job.finished_at is not None:
        title, tone = ENDED[job.state]
        entries.append(Entry(title, job.finished_at, _sentence(job.reason), tone))
    elif job.state is State.SCHEDULED:
        entries.append(Entry("Runs again" if job.attempt else "Runs", job.run_at, tone="warn"))
    return entries


def _of_attempt(run: Attempt) -> Entry:
    status = run.status.replace("_", " ")
    error = run.error or {}
    told = [f"{error.get('type')}: {error.get('message')}"] if error else []
    told += [f"took {duration_text(run.duration_ms / 1000)}"] if run.duration_ms is not None else []
    began_or_ended: datetime = run.finished_at or run.started_at
    return Entry(
        f"Attempt {run.attempt} {status}" + (f" (run {run.run})" if run.run != run.attempt else ""),
        began_or_ended,
        "\n".join(told),
        ATTEMPT_TONES.get(status, "neutral"),
        who=run.worker or "",
        href=f"#run-{run.run}",
    )


def _of_action(entry: AuditEntry) -> Entry:
    verb = entry.action.partition(".")[2].replace("_", " ") or entry.action
    moved = f" → {entry.to_state}" if entry.to_state and entry.to_state != entry.from_state else ""
    return Entry(
        f"{verb.capitalize()}{moved}",
        entry.at,
        entry.reason or "",
        ACTION_TONES.get(verb, "neutral"),
        who=entry.actor,
    )


def _sentence(reason: str | None) -> str:
    return "" if not reason else reason[:1].upper() + reason[1:]
