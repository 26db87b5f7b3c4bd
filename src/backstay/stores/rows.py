"""Turns database rows into values; what the two databases spell differently becomes one thing here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec

from backstay.model.job import Attempt, Job, JobId, Progress, Step
from backstay.model.pauses import Pause
from backstay.model.records import (
    AuditEntry,
    DeadLetter,
    DeadLetterGroup,
    DeadLetterHour,
    Ending,
    KindRecord,
    MaintenanceLook,
    Neighbour,
    Override,
    QueueCount,
    WorkerRecord,
)
from backstay.model.states import State
from backstay.stores.database.interface import Row

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_decode = msgspec.json.Decoder().decode


def job_id(value: Any) -> JobId:
    """A job's id."""
    return JobId(value if isinstance(value, UUID) else UUID(str(value)))


def moment(value: Any) -> datetime:
    """A time that is there."""
    return value if isinstance(value, datetime) else _EPOCH + timedelta(microseconds=value)


def maybe_moment(value: Any) -> datetime | None:
    """A time, or none."""
    return None if value is None else moment(value)


def span(value: Any) -> timedelta:
    """A length of time."""
    return value if isinstance(value, timedelta) else timedelta(microseconds=value)


def document(value: Any) -> Any:
    """A JSON column as Python values."""
    return None if value is None else _decode(value)


_AS_THEY_ARE = (
    "kind",
    "queue",
    "reason",
    "priority",
    "tenant",
    "attempt",
    "max_attempts",
    "run",
    "crashes",
    "lease_epoch",
    "duration_ms",
    "worker",
    "name",
    "description",
    "correlation_id",
    "created_by",
    "idempotency_key",
    "settled_epoch",
    "settled_by",
    "category",
)
_MOMENTS = (
    "run_at",
    "created_at",
    "updated_at",
    "started_at",
    "finished_at",
    "heartbeat_at",
    "lease_expires_at",
    "expires_at",
    "deadline",
    "cancel_requested_at",
)
_DOCUMENTS = ("args", "result", "error")


def job(row: Row) -> Job:
    """A whole job."""
    parent = row["parent_id"]
    values: dict[str, Any] = {name: row[name] for name in _AS_THEY_ARE}
    values |= {name: maybe_moment(row[name]) for name in _MOMENTS}
    values |= {name: document(row[name]) for name in _DOCUMENTS}
    return Job(
        id=job_id(row["id"]),
        state=State(row["state"]),
        is_suspect=bool(row["is_suspect"]),
        tags=tuple(document(row["tags"]) or ()),
        metadata=document(row["metadata"]) or {},
        policy=_own_policy(row),
        parent_id=None if parent is None else job_id(parent),
        progress=None if row["progress_at"] is None else _progress(row),
        **values,
    )


def _progress(row: Row) -> Progress:
    total = row["progress_total"]
    return Progress(
        _count(row["progress_current"]),
        None if total is None else _count(total),
        row["progress_message"],
        moment(row["progress_at"]),
    )


def _count(value: float) -> float:
    return int(value) if value == int(value) else value


def step(row: Row) -> Step:
    """A step that is done."""
    return Step(
        job_id=job_id(row["job_id"]),
        name=row["name"],
        position=row["position"],
        result=document(row["result"]),
        attempt=row["attempt"],
        run=row["run"],
        worker=row["worker"],
        duration_ms=row["duration_ms"],
        finished_at=moment(row["finished_at"]),
    )


def _own_policy(row: Row) -> dict[str, Any]:
    own: dict[str, Any] = document(row["policy"]) or {}
    if row["own_timeout"] is not None:
        own["timeout_seconds"] = span(row["own_timeout"]).total_seconds()
    return own


def attempt(row: Row) -> Attempt:
    """One finished attempt."""
    return Attempt(
        job_id=job_id(row["job_id"]),
        epoch=row["lease_epoch"],
        attempt=row["attempt"],
        run=row["run"],
        status=row["status"],
        started_at=moment(row["started_at"]),
        finished_at=maybe_moment(row["finished_at"]),
        duration_ms=row["duration_ms"],
        worker=row["worker"],
        error=document(row["error"]),
        cpu_ms=row["cpu_ms"],
        peak_rss_mb=row["peak_rss_mb"],
    )


def dead_letter(row: Row) -> DeadLetter:
    """One dead letter."""
    return DeadLetter(
        job_id=job_id(row["job_id"]),
        epoch=row["lease_epoch"],
        tenant=row["tenant"],
        kind=row["kind"],
        queue=row["queue"],
        reason=row["reason"],
        fingerprint=row["fingerprint"],
        error=document(row["error"]),
        attempts=row["attempts"],
        first_attempted_at=maybe_moment(row["first_attempted_at"]),
        died_at=moment(row["died_at"]),
        status=row["status"],
        owner=row["owner"],
        note=row["note"],
        resolution=row["resolution"],
        resolved_by=row["resolved_by"],
        resolved_at=maybe_moment(row["resolved_at"]),
        changed_by=row["changed_by"],
        changed_at=maybe_moment(row["changed_at"]),
        version=row["version"],
    )


def letter_group(row: Row) -> DeadLetterGroup:
    """Dead letters of one cause; a death without an error has its reason for one."""
    error: dict[str, Any] = document(row["error"]) or {}
    return DeadLetterGroup(
        fingerprint=row["fingerprint"],
        kind=row["kind"],
        error_type=str(error.get("type", "")),
        message=str(error.get("message", row["reason"])),
        letters=row["letters"],
        first_died_at=moment(row["first_died_at"]),
        last_died_at=moment(row["last_died_at"]),
        job_id=job_id(row["job_id"]),
        last_closed_at=maybe_moment(row["last_closed_at"]),
        is_capped=bool(row["is_capped"]),
    )


def letter_hour(row: Row) -> DeadLetterHour:
    """Dead letters of one cause and hour."""
    return DeadLetterHour(fingerprint=row["fingerprint"], at=moment(row["at"]), letters=row["letters"])


def audit_entry(row: Row) -> AuditEntry:
    """One line of the audit trail."""
    about = row["job_id"]
    return AuditEntry(
        at=moment(row["at"]),
        tenant=row["tenant"],
        actor=row["actor"],
        action=row["action"],
        job_id=None if about is None else job_id(about),
        from_state=row["from_state"],
        to_state=row["to_state"],
        reason=row["reason"],
        source=row["source"],
        details=document(row["details"]),
        id=row["id"],
    )


_VITALS = ("type", "settled", "tainted", "cpu_percent", "rss_mb", "loop_lag_ms")


def worker(row: Row) -> WorkerRecord:
    """One worker's entry."""
    return WorkerRecord(
        id=row["id"],
        state=row["state"],
        host=row["host"],
        boot_id=row["boot_id"],
        pid=row["pid"],
        version=row["version"],
        kinds=tuple(document(row["kinds"])),
        queues=tuple(document(row["queues"])),
        concurrency=row["concurrency"],
        running=row["running"],
        **{name: row[name] for name in _VITALS},
        told=row["told"],
        told_by=row["told_by"],
        told_at=maybe_moment(row["told_at"]),
        started_at=moment(row["started_at"]),
        heartbeat_at=moment(row["heartbeat_at"]),
        silent_for=moment(row["now"]) - moment(row["heartbeat_at"]),
    )


def kind(row: Row) -> KindRecord:
    """What the database knows of a kind."""
    return KindRecord(
        kind=row["kind"],
        queue=row["queue"],
        policy=document(row["policy"]) or {},
        arguments=document(row["arguments"]),
        fingerprint=row["fingerprint"],
        description=row["description"],
        declared_by=row["declared_by"],
        updated_at=moment(row["updated_at"]),
        conflict=document(row["conflict"]),
        promoted=document(row["promoted"]),
        reactions=document(row["reactions"]),
    )


def override(row: Row) -> Override:
    """One number that an operator has changed."""
    return Override(
        scope=row["scope"],
        name=row["name"],
        field=row["field"],
        change=row["change"],
        set_at=moment(row["set_at"]),
        set_by=row["set_by"],
        reason=row["reason"],
    )


def pause(row: Row) -> Pause:
    """One pause in force."""
    return Pause(
        queue=row["queue"] or None,
        kind=row["kind"] or None,
        paused_at=moment(row["paused_at"]),
        paused_by=row["paused_by"],
        reason=row["reason"],
        tenant=row["tenant"] or None,
        ends_at=maybe_moment(row["ends_at"]),
    )


def queue_count(row: Row) -> QueueCount:
    """How many jobs share a queue, kind and state."""
    return QueueCount(
        queue=row["queue"],
        kind=row["kind"],
        state=State(row["state"]),
        jobs=row["jobs"],
        oldest_run_at=maybe_moment(row["oldest_run_at"]),
        is_capped=bool(row["is_capped"]),
    )


def ending(row: Row) -> Ending:
    """How a job ended."""
    return Ending(State(row["state"]), row["result"], row["reason"], document(row["error"]))


_TIMES = ("next_run_at", "next_timeout_at", "next_resume_at")


def due_in(row: Row) -> timedelta | None:
    """How long until something is due by itself: the soonest of every `next_…_at`."""
    due = [moment(row[name]) for name in _TIMES if row[name] is not None]
    return max(min(due) - moment(row["now"]), timedelta(0)) if due else None


def look(row: Row) -> MaintenanceLook:
    """What there is to do for maintenance."""
    now, token, quietest = (
        moment(row["now"]),
        maybe_moment(row["next_token_at"]),
        maybe_moment(row["quietest_at"]),
    )
    return MaintenanceLook(
        now=now,
        started_at=moment(row["started_at"]),
        due_in=due_in(row),
        has_expired=bool(row["has_expired"]),
        has_unstarted=bool(row["has_unstarted"]),
        has_late=bool(row["has_late"]),
        has_paused=bool(row["has_paused"]),
        has_waiting_children=bool(row["has_waiting_children"]),
        has_parked=bool(row["has_parked"]),
        has_reports=bool(row["has_reports"]),
        has_misfits=bool(row["has_misfits"]),
        has_operations=bool(row["has_operations"]),
        has_webhooks=bool(row["has_webhooks"]),
        has_unchained=bool(row["has_unchained"]),
        token_in=None if token is None else max(token - now, timedelta(0)),
        silence=timedelta(0) if quietest is None else now - quietest,
    )


def neighbour(row: Row) -> Neighbour:
    """Another worker of the same machine."""
    return Neighbour(row["id"], row["pid"], maybe_moment(row["process_started"]))
