"""Runs a coroutine inside the task that awaits it, from the moment when it first has to wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from functools import partial
from typing import Any


class Driven:
    """Awaiting this goes on with a coroutine in its context, without a task of its own.

    It has taken its first step already and waits for what that gave. A handler that never waits is over by then, so
    none of this is made for it.
    """

    __slots__ = ("_awaited", "_context", "_coroutine")

    def __init__(self, coroutine: Coroutine[Any, Any, Any], context: Context, awaited: Any) -> None:
        self._coroutine, self._context, self._awaited = coroutine, context, awaited

    def __await__(self) -> Generator[Any, Any, Any]:
        run, coroutine, awaited = self._context.run, self._coroutine, self._awaited
        while True:
            try:
                answer = yield awaited
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as error:  # handed on to whom it is meant for
                step: Callable[[], Any] = partial(coroutine.throw, error)
            else:
                step = partial(coroutine.send, answer)
            try:
                awaited = run(step)
            except StopIteration as end:
                return end.value
