"""Runs a coroutine inside the task that awaits it, and says when it first has to wait."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from functools import partial
from typing import Any


class Driven:
    """Awaiting this runs the coroutine in a context of its own, without a task of its own.

    A handler that never waits is over before its task could have been started, so none is made for it.
    `on_wait` is called when it does wait, once: from then on the awaiting task belongs to this coroutine.
    """

    __slots__ = ("_context", "_coroutine", "_on_wait")

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], context: Context, on_wait: Callable[[], None]
    ) -> None:
        self._coroutine, self._context, self._on_wait = coroutine, context, on_wait

    def __await__(self) -> Generator[Any, Any, Any]:
        run, coroutine = self._context.run, self._coroutine
        try:
            awaited = run(coroutine.send, None)
        except StopIteration as end:
            return end.value
        self._on_wait()
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
