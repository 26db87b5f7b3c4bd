"""What one log line holds: a few names that every line may have, and the rest as its context."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backstay.model.text.redaction import redact

FIRST = ("timestamp", "level", "message")
OF_JOBS = ("job_id", "job_type", "tenant", "duration_ms", "error_details")
LEVELS = {"warning": "warn", "critical": "error", "exception": "error"}


def for_machines(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A line as a JSON object: when, how loud, what, of which job, what went wrong; the rest is in `context`."""
    told = _told(facts)
    told["level"] = LEVELS.get(told.get("level", ""), told.get("level"))
    told["message"] = told.pop("event", told.get("message"))
    if "kind" in told:
        told["job_type"] = told.pop("kind")
    line = {name: told.pop(name) for name in (*FIRST, *OF_JOBS) if told.get(name) is not None}
    rest = {name: value for name, value in told.items() if value is not None and name not in OF_JOBS}
    return {**line, "context": rest} if rest else line


def for_people(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A line for the terminal: an error is one sentence; of an attempt that failed the traceback stands below it."""
    told = _told(facts)
    error = told.pop("error_details", None)
    if isinstance(error, Mapping):
        if told.get("event") in ("job.failed", "job.dead") and error.get("stack"):
            told["exception"] = error["stack"]
        # An exception may have no message.
        error = ": ".join(str(error[name]) for name in ("name", "message") if error.get(name))
    if error:
        told["error"] = error
    return told


def _told(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: redact(value, name=name) for name, value in facts.items()}
