"""What a handler can ask about the job it is running."""

from __future__ import annotations

from contextvars import ContextVar, Token
from datetime import datetime
from typing import ClassVar

from windlass.errors import Cancel, WindlassError
from windlass.job import JobId


class Context:
    """The running attempt, as its handler sees it."""

    __windlass_context__: ClassVar[bool] = True

    __slots__ = (
        "attempt",
        "correlation_id",
        "deadline",
        "job_id",
        "kind",
        "max_attempts",
        "queue",
        "run",
        "tenant",
    )

    def __init__(
        self,
        *,
        job_id: JobId,
        kind: str,
        queue: str,
        attempt: int = 1,
        max_attempts: int = 1,
        run: int = 1,
        tenant: str = "",
        correlation_id: str | None = None,
        deadline: datetime | None = None,
    ) -> None:
        self.job_id, self.kind, self.queue = job_id, kind, queue
        self.attempt, self.max_attempts, self.run = attempt, max_attempts, run
        self.tenant, self.correlation_id, self.deadline = tenant, correlation_id, deadline

    @property
    def idempotency_key(self) -> str:
        """The same for every attempt of this job: hand it to services that deduplicate requests."""
        return str(self.job_id)

    def is_cancelled(self) -> bool:
        """Whether somebody has asked this job to stop."""
        return False

    def check(self) -> None:
        """Raise Cancel if somebody has asked this job to stop; call it between parts of long work."""
        if self.is_cancelled():
            raise Cancel("stopped on request")


_current: ContextVar[Context] = ContextVar("windlass_context")


def current() -> Context:
    """The context of the handler that is running here; raises WindlassError outside of one."""
    try:
        return _current.get()
    except LookupError:
        raise WindlassError("no job is running here: current() works only inside a handler") from None


def enter(context: Context) -> Token[Context]:
    """Make `context` the current one and return what `leave` needs to undo it."""
    return _current.set(context)


def leave(token: Token[Context]) -> None:
    """Put back the context that was current before `enter`."""
    _current.reset(token)
