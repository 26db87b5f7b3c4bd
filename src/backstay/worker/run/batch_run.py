"""One run of a batch handler: the items it is given, and an outcome for each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from backstay.errors import InvalidArguments
from backstay.model.batch import BatchItem
from backstay.model.classify import ErrorRules
from backstay.model.outcome import Outcome
from backstay.runtime.env import Env
from backstay.worker.run.outcomes import raised, returned
from backstay.worker.run.running import Running


class BatchRun:
    """The jobs of a batch while their handler runs; a job whose arguments cannot be read is not shown to it."""

    def __init__(self, first: Running, *, rules: ErrorRules, result_limit: int, env: Env) -> None:
        self._members = (first, *first.rest_of_batch)
        self._rules, self._result_limit, self._env = rules, result_limit, env
        self._items: dict[Running, BatchItem[Any]] = {}
        self._unreadable: dict[Running, InvalidArguments] = {}
        for member in self._members:
            member.started = env.monotonic()
            if member.stop_outcome is None:
                self._read(member)

    async def run_async(
        self, drive: Callable[[Coroutine[Any, Any, Any]], Awaitable[None]]
    ) -> dict[Running, Outcome]:
        """Run the handler once for the whole batch, through `drive`, and return the outcome of each job."""
        batch_error: BaseException | None = None
        try:
            if self._items:
                await drive(self._call())
        except BaseException as error:  # the user's code: what it raises is the outcome of these jobs alone
            batch_error = error
        return self._outcomes(batch_error)

    def run(self) -> dict[Running, Outcome]:
        """Call the handler here and now; returns what became of each job."""
        batch_error: BaseException | None = None
        try:
            if self._items:
                self._call()
        except BaseException as error:  # the user's code: what it raises is the outcome of these jobs alone
            batch_error = error
        return self._outcomes(batch_error)

    def _call(self) -> Any:
        function = self._members[0].spec.function
        assert function is not None
        return function(list(self._items.values()))

    def _outcomes(self, error: BaseException | None) -> dict[Running, Outcome]:
        return {member: self._outcome(member, error) for member in self._members}

    def _read(self, member: Running) -> None:
        try:
            (value,) = member.spec.unpack(member.claim.args).values()
        except InvalidArguments as error:
            self._unreadable[member] = error
        else:
            claim = member.claim
            self._items[member] = BatchItem(
                value,
                job_id=claim.id,
                attempt=claim.attempt,
                is_last_attempt=claim.is_last_attempt,
                tenant=claim.tenant,
                correlation_id=claim.correlation_id,
            )

    def _outcome(self, member: Running, error: BaseException | None) -> Outcome:
        item = self._items.get(member)
        if item is not None and item.is_settled:
            result, problem = item.ending()
            if problem is None:
                return returned(member.spec, result, result_limit=self._result_limit)
            return self._raised(problem)
        if member.stop_outcome is not None:
            return member.stop_outcome
        if member in self._unreadable:
            return self._raised(self._unreadable[member])
        if error is not None:
            return self._raised(error)
        assert item is not None
        return self._raised(item.ending()[1])

    def _raised(self, error: BaseException | None) -> Outcome:
        assert error is not None
        return raised(error, rules=self._rules, now=self._env.wall())
