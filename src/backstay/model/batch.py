"""What a handler of many jobs at once is given: the items, each with an ending of its own."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar
from uuid import UUID

from backstay.errors import AlreadySettled, Cancel, InvalidPolicy, InvalidSettings, ItemFailed, Retry, Snooze
from backstay.model.control import BY_ITS_HANDLER
from backstay.model.job import JobId
from backstay.model.text.durations import Duration, duration

T = TypeVar("T")

_NO_JOB = JobId(UUID(int=0))

LARGEST = 1000
LONGEST_WAIT = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Batching:
    """How many jobs of a kind are handled together at most, and how long the first waits for the others."""

    size: int
    wait: timedelta

    @classmethod
    def of(cls, kind: str, *, size: int, wait: Duration) -> Batching:
        """Check what `@app.batch_job(…)` was given; raises InvalidSettings or InvalidPolicy."""
        if type(size) is not int or not 1 <= size <= LARGEST:
            raise InvalidSettings(
                f"the size of {kind!r} cannot be {size!r}: a batch has 1 to {LARGEST:,} jobs"
            )
        length = duration(wait, field="wait")
        if length > LONGEST_WAIT:
            raise InvalidPolicy("wait", wait, needs="at most a minute: the jobs are leased while they wait")
        return cls(size, length)


class BatchItem(Generic[T]):
    """One job of a batch: `value` is what it was enqueued with.

    Give each its ending by one of the methods. One that is given none has failed; when the handler raises, all that
    were given none have failed with that error.
    """

    __slots__ = (
        "_error",
        "_is_settled",
        "_result",
        "attempt",
        "correlation_id",
        "is_last_attempt",
        "job_id",
        "tenant",
        "value",
    )

    def __init__(
        self,
        value: T,
        *,
        job_id: JobId = _NO_JOB,
        attempt: int = 1,
        is_last_attempt: bool = False,
        tenant: str = "",
        correlation_id: str | None = None,
    ) -> None:
        self.value, self.job_id, self.attempt, self.tenant = value, job_id, attempt, tenant
        self.is_last_attempt, self.correlation_id = is_last_attempt, correlation_id
        self._is_settled = False
        self._result: Any = None
        self._error: BaseException | None = None

    @property
    def is_settled(self) -> bool:
        """Whether it has been given an ending."""
        return self._is_settled

    def complete(self, result: Any = None) -> None:
        """Let the job end well, with this result."""
        self._settle(result, None)

    def fail(self, error: BaseException | str) -> None:
        """Let the attempt fail with this error; the policy of its class decides what follows."""
        self._settle(None, ItemFailed(error) if isinstance(error, str) else error)

    def retry(self, after: Duration) -> None:
        """Let the attempt fail, and run the job again after this time."""
        self._settle(None, Retry(after=after))

    def snooze(self, delay: Duration) -> None:
        """Run the job again after this time, without spending an attempt."""
        self._settle(None, Snooze(delay))

    def cancel(self, reason: str = BY_ITS_HANDLER) -> None:
        """End the job for good as cancelled."""
        self._settle(None, Cancel(reason))

    async def enqueue(self, handler: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Store a child of this job: tenant, correlation id and parent are this one's, unless options of it say.

        >>> await item.enqueue(send_receipt, order_id=7)
        """
        return await self._bound(handler).enqueue(*args, **kwargs)

    def enqueue_sync(self, handler: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Do what `enqueue` does, blocking."""
        return self._bound(handler).enqueue_sync(*args, **kwargs)

    def _bound(self, handler: Any) -> Any:
        own = {
            "parent": self.job_id,
            "tenant": self.tenant,
            "correlation_id": self.correlation_id or str(self.job_id),
        }
        chosen = handler.chosen
        return handler.options(
            **{name: value for name, value in own.items() if getattr(chosen, name) is None}
        )

    def ending(self) -> tuple[Any, BaseException | None]:
        """What the handler has made of it: the result, or what counts as raised for it."""
        if self._is_settled:
            return self._result, self._error
        return None, ItemFailed(
            "the handler of the batch gave this job no ending: call item.complete(), item.fail(), …"
        )

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self._is_settled:
            raise AlreadySettled(self.job_id, "was given its ending before: call one of the methods, once")
        self._is_settled, self._result, self._error = True, result, error

    def __repr__(self) -> str:
        return f"BatchItem({self.value!r}, job_id={self.job_id}, attempt={self.attempt})"
