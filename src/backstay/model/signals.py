"""What a job receives from outside, and how its handler's waits are answered from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from backstay.model.job import JobId

MOST_SIGNALS = 1000
"""So many signals of one name a job keeps; more are refused."""

_HELD_FOR = "waiting for signal "


def held_reason(name: str) -> str:
    """Why a job that waits for this signal is held, as people and statements read it."""
    return f"{_HELD_FOR}{name}"


def awaited_signal(reason: str | None) -> str | None:
    """The signal that a job held for this reason waits for; None if it is held for something else."""
    return reason.removeprefix(_HELD_FOR) if reason is not None and reason.startswith(_HELD_FOR) else None


@dataclass(frozen=True, slots=True)
class Wait:
    """The wait that a run ends with: the `number`-th for this name, answered by the signal at `position`."""

    name: str
    number: int = 1
    position: int = 1
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class NewSignal:
    """A signal that is checked and ready to be stored; sent again under the same key it is there once."""

    job_id: JobId
    name: str
    key: str
    payload: str | None = None
    sent_by: str = "client"


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of one sending: whether the signal is new, and the queue of a job that it has released."""

    is_new: bool
    queue: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Something that a job has received; those of one name are answered in the order of `position`."""

    job_id: JobId
    name: str
    position: int
    key: str
    payload: Any
    sent_by: str
    sent_at: datetime


@dataclass(frozen=True, slots=True)
class Mail:
    """What a job has received by name, as JSON texts in order, and which of its waits ran out of time."""

    received: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    timed_out: Mapping[str, Sequence[int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Received:
    """The wait is answered by a signal."""

    payload: str | None


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The wait ran out of time, in this run and in every later one."""


@dataclass(frozen=True, slots=True)
class NotYet:
    """The signal at this position has not come."""

    position: int


Answer = Received | TimedOut | NotYet


def answer(mail: Mail, name: str, number: int) -> Answer:
    """What the `number`-th wait for a name in a run comes to.

    The same in every later run: a wait that ran out of time stays so and takes no signal, and the others take the
    signals in the order in which they came.
    """
    timed_out = mail.timed_out.get(name, ())
    if number in timed_out:
        return TimedOut()
    position = number - sum(1 for earlier in timed_out if earlier < number)
    received = mail.received.get(name, ())
    return Received(received[position - 1]) if position <= len(received) else NotYet(position)
