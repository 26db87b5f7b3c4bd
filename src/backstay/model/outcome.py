"""What one attempt of a job came to, as a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from backstay.model.signals import Wait


@dataclass(frozen=True, slots=True)
class ErrorInfo:
    """An exception, made safe to store: bounded, printable, without its objects."""

    type: str
    message: str
    error_class: str
    traceback: str = ""
    code: str | None = None
    status: int | None = None
    context: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    """Facts that the handler noted, and those that the exception carried."""
    partial_result: Any = None
    """What the handler had reached, if it said so."""


@dataclass(frozen=True, slots=True)
class Complete:
    """The handler returned; `result` is its JSON text, or None for no result."""

    result: str | None = None


@dataclass(frozen=True, slots=True)
class Fail:
    """The handler raised, ran out of time, or its result could not be stored."""

    error: ErrorInfo
    hopeless: bool = False
    retry_after: timedelta | None = None
    timed_out: bool = False
    queue: str | None = None
    """Where the job is to wait for its next attempt, if not where it was."""


@dataclass(frozen=True, slots=True)
class Snoozed:
    """The handler asked to be run later; not a failure."""

    delay: timedelta


@dataclass(frozen=True, slots=True)
class Waiting:
    """The handler waits for a signal that has not come; it is run again when it has, or when its time is over."""

    wait: Wait


@dataclass(frozen=True, slots=True)
class Stopped:
    """The job ends as cancelled: somebody asked, and the handler stopped, or the handler itself asked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Released:
    """Given back unfinished, because the worker shuts down or never started it."""

    reason: str = "shutdown"


@dataclass(frozen=True, slots=True)
class Crashed:
    """The process that ran the handler is gone; nobody knows how far the handler came.

    `was_alone` says that no other job ran in it, so that the cause must be this one; `told` is what is known.
    """

    worker: str
    told: str = ""
    was_alone: bool = False
    details: dict[str, Any] = field(default_factory=dict)
    partial_result: Any = None


@dataclass(frozen=True, slots=True)
class Misfit:
    """The stored arguments do not fit the handler of this worker, perhaps because another release stored them.

    `signature` names what this worker reads the arguments of the kind by.
    """

    error: ErrorInfo
    signature: str


Outcome = Complete | Fail | Snoozed | Waiting | Stopped | Released | Crashed | Misfit
