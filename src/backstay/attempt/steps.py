"""Runs the steps of a handler, each once however often the job runs, and gives back what they came to."""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec

from backstay.attempt.backend import AttemptBackend
from backstay.errors import InvalidPayload, InvalidSettings, InvalidStep
from backstay.handlers import codec
from backstay.handlers.decoding_errors import problem_of
from backstay.handlers.signature import decoder_for
from backstay.model.job import NewStep

MOST_STEPS = 10_000


class StepBook:
    """The steps of one run: which were begun, and what those that are done came to."""

    def __init__(self, backend: AttemptBackend, *, is_first_run: bool) -> None:
        self._backend = backend
        # A job that has never run before cannot have finished a step, so nobody has to be asked.
        self._results: Mapping[str, str | None] | None = {} if is_first_run else None
        self._begun: dict[str, int] = {}
        # Those whose function raised: a handler may catch that and try again.
        self._raised: set[str] = set()
        self._running: list[str] = []
        self._failed: tuple[str, BaseException] | None = None

    async def run(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Run a function unless it is done, await it if need be, and remember its result."""
        _check_function(name, function)
        position = self._begin(name)
        results = self._results
        if results is None:
            results = self._results = await asyncio.wrap_future(self._backend.results())
        decoder = _decoder(name, function)
        if name in results:
            return _decoded(name, results[name], decoder)
        started = self._backend.monotonic()
        with self._at_work(name):
            value = function(*args, **kwargs)
            if inspect.isawaitable(value):
                value = await value
        step = self._finished(name, position, value, started)
        await asyncio.wrap_future(self._backend.save(step))
        return _decoded(name, step.result, decoder)

    def run_sync(
        self, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Do the same for a function that blocks, in its thread."""
        _check_function(name, function)
        position = self._begin(name)
        if self._results is None:
            self._results = self._backend.results().result()
        decoder = _decoder(name, function)
        if name in self._results:
            return _decoded(name, self._results[name], decoder)
        started = self._backend.monotonic()
        with self._at_work(name):
            value = function(*args, **kwargs)
        if inspect.iscoroutine(value):
            value.close()
            raise InvalidStep(name, "its function is async: use 'await ctx.step(…)' in an async handler")
        step = self._finished(name, position, value, started)
        self._backend.save(step).result()
        return _decoded(name, step.result, decoder)

    @property
    def running(self) -> str | None:
        """A step whose function is at work now."""
        return self._running[-1] if self._running else None

    def failed_in(self, error: BaseException) -> str | None:
        """The step out of which this error came, or the one that led to it; None if no step did."""
        if self._failed is None:
            return None
        name, first = self._failed
        seen: set[int] = set()
        below: BaseException | None = error
        while below is not None and id(below) not in seen:
            if below is first:
                return name
            seen.add(id(below))
            below = below.__cause__ or below.__context__
        return None

    def _begin(self, name: str) -> int:
        _check_name(name)
        self._backend.refuse_steps(name)
        if name in self._raised:
            self._raised.remove(name)
            return self._begun[name]
        if name in self._begun:
            raise InvalidStep(
                name, f"it was begun before in this run: give each step a name of its own, such as '{name}-2'"
            )
        if len(self._begun) >= MOST_STEPS:
            raise InvalidStep(name, f"a job has at most {MOST_STEPS:,} steps: do several things in one step")
        self._begun[name] = len(self._begun) + 1
        return self._begun[name]

    @contextmanager
    def _at_work(self, name: str) -> Iterator[None]:
        self._running.append(name)
        try:
            yield
        except BaseException as error:
            self._failed = (name, error)
            self._raised.add(name)
            raise
        finally:
            self._running.remove(name)

    def _finished(self, name: str, position: int, value: object, started: float) -> NewStep:
        try:
            text = (
                None
                if value is None
                else codec.encode(value, limit_bytes=self._backend.result_limit, what="result")
            )
        except InvalidPayload as error:
            raise InvalidStep(name, f"it cannot be remembered: {error}") from error
        return NewStep(name, position, text, round((self._backend.monotonic() - started) * 1000))


def _check_name(name: object) -> None:
    try:
        codec.check_key("step", name)
    except InvalidPayload as error:
        raise InvalidStep(name, error.problem) from error


def _check_function(name: str, function: object) -> None:
    if inspect.isawaitable(function):
        if inspect.iscoroutine(function):
            function.close()
        raise InvalidStep(
            name,
            f"it was called already: hand in the function and what it takes, ctx.step({name!r}, work, 7)",
        )
    if not callable(function):
        raise InvalidStep(
            name, f"{type(function).__name__} is no function: hand in a function and what it takes"
        )


def _decoder(name: str, function: Callable[..., Any]) -> msgspec.json.Decoder[Any]:
    """What reads the result in the type that the function is annotated to return."""
    while isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(function)
    annotation = getattr(function, "__annotations__", {}).get("return", Any)
    try:
        return decoder_for(_resolved(annotation, function), "its result")
    except NameError as error:
        raise InvalidStep(
            name,
            f"the annotation {error.name!r} of its function is not known when the program runs; "
            "import it outside of TYPE_CHECKING",
        ) from error
    except InvalidSettings as error:
        raise InvalidStep(name, str(error)) from error


def _resolved(annotation: Any, function: Callable[..., Any]) -> Any:
    def stub() -> None: ...

    stub.__annotations__ = {"return": annotation}
    names = getattr(function, "__globals__", {})
    return typing.get_type_hints(stub, globalns=names, include_extras=True)["return"]


def _decoded(name: str, text: str | None, decoder: msgspec.json.Decoder[Any]) -> Any:
    """The value as every later run will see it, so that the first one sees it as well."""
    if text is None:
        return None
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        problem = problem_of(error)
    raise InvalidStep(name, f"its result is not what its function is annotated to return: {problem}")
