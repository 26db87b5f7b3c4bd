"""What `@app.job` makes of a function: still callable, and enqueued with checked, typed arguments."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, cast, overload
from uuid import UUID

from backstay.context import Context, current, is_running_here
from backstay.errors import BackstayError, InvalidSettings
from backstay.handle import JobHandle
from backstay.handlers.spec import HandlerSpec
from backstay.model.batch import BatchItem
from backstay.options import NO_OPTIONS, JobOptions, Options, refuse_unknown

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
T = TypeVar("T")
# A variable, because a plain Context here would also accept a first parameter annotated as object.
C = TypeVar("C", bound=Context)


class JobStore(Protocol):
    """Stores the jobs that handlers are asked to enqueue."""

    async def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        """Store one job."""
        ...

    async def enqueue_each(
        self, spec: HandlerSpec, args_texts: Sequence[str], options: JobOptions
    ) -> list[JobHandle[Any]]:
        """Store a job for each of these arguments."""
        ...


class SyncJobStore(Protocol):
    """Stores jobs without an event loop."""

    def enqueue(self, spec: HandlerSpec, args_text: str, options: JobOptions) -> JobHandle[Any]:
        """Store one job."""
        ...

    def enqueue_many(self, calls: Sequence[JobArgs[Any]], *, tx: object) -> list[JobHandle[Any]]:
        """Store many jobs."""
        ...


class Application(Protocol):
    """The application that a handler belongs to, as far as handlers use it."""

    url: str

    def _handle(self, spec: HandlerSpec, job_id: object) -> JobHandle[Any]:
        """A handle for a job that is stored already."""
        ...

    @property
    def _enqueuer(self) -> JobStore:
        """Stores jobs from the running event loop."""
        ...

    @property
    def _sync_enqueuer(self) -> SyncJobStore:
        """Stores jobs without an event loop."""
        ...

    def _completions(self) -> Any:
        """Make transactions in which handlers complete their jobs."""
        ...


@dataclass(slots=True)
class JobArgs(Generic[R_co]):
    """A checked call that is not enqueued yet, for enqueueing many at once.

    Not frozen: of the many that are made for one statement, each would take twice as long.
    """

    spec: HandlerSpec
    args_text: str
    options: JobOptions = NO_OPTIONS


class BoundHandler(Generic[P, R_co]):
    """A handler together with options for the jobs enqueued through it."""

    __slots__ = ("_app", "_options", "spec")

    def __init__(self, spec: HandlerSpec, app: Application, options: JobOptions) -> None:
        self.spec, self._app, self._options = spec, app, options

    @property
    def chosen(self) -> JobOptions:
        """The options that its jobs get."""
        return self._options

    def options(self, **options: Unpack[Options]) -> BoundHandler[P, R_co]:
        """Add to the options or replace some of them; the original keeps its own."""
        refuse_unknown(options)
        return BoundHandler(self.spec, self._app, replace(self._options, **options))

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R_co]:
        """Store a job with these arguments; when this returns, the job is committed.

        Raises InvalidArguments or InvalidPayload, and then nothing was stored.
        """
        return await self._app._enqueuer.enqueue(self.spec, self.spec.bind(args, kwargs), self._options)

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R_co]:
        """Do what `enqueue` does, blocking; raises SyncOnLoop where an event loop runs."""
        return self._app._sync_enqueuer.enqueue(self.spec, self.spec.bind(args, kwargs), self._options)

    async def enqueue_many(self, calls: Iterable[Mapping[str, Any]]) -> list[JobHandle[R_co]]:
        """Store a job with these options for each mapping of arguments, all or none, as the handler's own does."""
        texts = self.spec.bind_many(list(calls))
        stored: list[JobHandle[R_co]] = await self._app._enqueuer.enqueue_each(
            self.spec, texts, self._options
        )
        return stored

    def enqueue_many_sync(self, calls: Iterable[Mapping[str, Any]]) -> list[JobHandle[R_co]]:
        """Do what `enqueue_many` does, blocking; raises SyncOnLoop where an event loop runs."""
        bound = [JobArgs[R_co](self.spec, text, self._options) for text in self.spec.bind_many(list(calls))]
        stored: list[JobHandle[R_co]] = self._app._sync_enqueuer.enqueue_many(bound, tx=self._options.tx)
        return stored

    def args(self, *args: P.args, **kwargs: P.kwargs) -> JobArgs[R_co]:
        """Check these arguments now and keep them for enqueueing many jobs at once."""
        return JobArgs(self.spec, self.spec.bind(args, kwargs), self._options)


class Handler(Generic[P, R_co]):
    """A function that handles one kind of job.

    Calling it runs the function here and now, without a job, as a test would.
    """

    def __init__(self, spec: HandlerSpec, app: Application) -> None:
        if spec.function is None:
            raise InvalidSettings(f"the kind {spec.kind!r} is only declared: it has no function to call")
        self.spec = spec
        self.__wrapped__ = spec.function
        self.__name__, self.__qualname__ = spec.function.__name__, spec.function.__qualname__
        self.__module__, self.__doc__ = spec.function.__module__, spec.function.__doc__
        self._bound: BoundHandler[P, R_co] = BoundHandler(spec, app, NO_OPTIONS)

    @property
    def _app(self) -> Application:
        """The application that it belongs to."""
        return self._bound._app

    @property
    def chosen(self) -> JobOptions:
        """The options that its jobs get: none."""
        return NO_OPTIONS

    @property
    def kind(self) -> str:
        """The name that ties stored jobs to this handler."""
        return self.spec.kind

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co | Coroutine[Any, Any, R_co]:
        """Run the function itself; a context it wants is the current one."""
        if self.spec.wants_context and not is_running_here():
            raise BackstayError(
                f"handler {self.kind!r} takes a context, and no job is running here: enqueue it, "
                f"or run it in a test with backstay.run_job({self.__name__}, …)"
            )
        context = (current(),) if self.spec.wants_context else ()
        return cast(R_co, self.__wrapped__(*context, *args, **kwargs))

    def options(self, **options: Unpack[Options]) -> BoundHandler[P, R_co]:
        """Set options for the jobs enqueued through what this returns.

        >>> await send_welcome.options(delay="5m", key="welcome-7").enqueue(user_id=7)
        """
        return self._bound.options(**options)

    async def enqueue(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R_co]:
        """Store a job with these arguments; when this returns, the job is committed.

        Raises InvalidArguments or InvalidPayload, and then nothing was stored.
        """
        return await self._bound.enqueue(*args, **kwargs)

    def enqueue_sync(self, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R_co]:
        """Do what `enqueue` does, blocking; raises SyncOnLoop where an event loop runs."""
        return self._bound.enqueue_sync(*args, **kwargs)

    async def enqueue_many(self, calls: Iterable[Mapping[str, Any]]) -> list[JobHandle[R_co]]:
        """Store a job for each mapping of arguments by name, all or none; the handles come in the order given.

        Arguments are checked together, so this is the quickest way to store jobs by the thousand. Raises InvalidBatch
        that names every bad one (the first hundred), and then nothing was stored.

        >>> await send_welcome.enqueue_many([{"user_id": 7}, {"user_id": 8}])
        """
        return await self._bound.enqueue_many(calls)

    def enqueue_many_sync(self, calls: Iterable[Mapping[str, Any]]) -> list[JobHandle[R_co]]:
        """Do what `enqueue_many` does, blocking; raises SyncOnLoop where an event loop runs."""
        return self._bound.enqueue_many_sync(calls)

    def args(self, *args: P.args, **kwargs: P.kwargs) -> JobArgs[R_co]:
        """Check these arguments now and keep them for enqueueing many jobs at once."""
        # Not by way of the bound one: handing arguments on takes as long as half of the checks.
        return JobArgs(self.spec, self.spec.bind(args, kwargs), NO_OPTIONS)

    def handle(self, job_id: UUID | str) -> JobHandle[R_co]:
        """A handle for a job of this kind that was enqueued before, perhaps by another program.

        Nothing is asked yet: one that does not exist raises JobNotFound when it is.
        """
        return self._app._handle(self.spec, job_id)

    def __repr__(self) -> str:
        return f"<handler of {self.kind!r}: {self.__module__}.{self.__qualname__}>"


class AsyncHandler(Handler[P, R_co]):
    """A handler made from an `async def`: calling it gives a coroutine."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R_co]:
        """Start the function itself; a context it wants is the current one."""
        return cast(Coroutine[Any, Any, R_co], super().__call__(*args, **kwargs))


class PlainHandler(Handler[P, R_co]):
    """A handler made from a `def`: calling it gives its result."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Run the function itself; a context it wants is the current one."""
        return cast(R_co, super().__call__(*args, **kwargs))


class BatchHandler(Handler[[T], Any]):
    """A handler of many jobs at once: one value is enqueued at a time, and calling it takes a list of items."""

    def __call__(self, items: Sequence[BatchItem[T]], /) -> Any:  # type: ignore[override]  # a job has one value
        """Run the function itself, with items that a test has made."""
        return self.__wrapped__(list(items))


class BatchDecorator(Protocol):
    """The type of `@app.batch_job(…)`: what one job is enqueued with is the type of the items."""

    @overload
    def __call__(
        self, function: Callable[[list[BatchItem[T]]], Coroutine[Any, Any, None]], /
    ) -> BatchHandler[T]: ...

    @overload
    def __call__(self, function: Callable[[list[BatchItem[T]]], None], /) -> BatchHandler[T]: ...


class JobDecorator(Protocol):
    """The type of `@app.job(…)`: keeps the signature, without a first parameter annotated Context."""

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine is also a result; first fit wins
        self, function: Callable[Concatenate[C, P], Coroutine[Any, Any, R]], /
    ) -> AsyncHandler[P, R]: ...

    @overload
    def __call__(  # type: ignore[overload-overlap]  # a coroutine is also a result; first fit wins
        self, function: Callable[P, Coroutine[Any, Any, R]], /
    ) -> AsyncHandler[P, R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[C, P], R], /) -> PlainHandler[P, R]: ...

    @overload
    def __call__(self, function: Callable[P, R], /) -> PlainHandler[P, R]: ...


def job_decorator(describe: Callable[[Callable[..., Any]], HandlerSpec], app: Application) -> JobDecorator:
    """Make a decorator that registers a function by `describe` and gives back its typed handler."""

    def decorate(function: Callable[..., Any]) -> Handler[..., Any]:
        spec = describe(function)
        return AsyncHandler(spec, app) if spec.is_async else PlainHandler(spec, app)

    return cast(JobDecorator, decorate)


def batch_decorator(
    describe: Callable[[Callable[..., Any]], HandlerSpec], app: Application
) -> BatchDecorator:
    """Make a decorator that registers a function as a handler of batches."""
    return cast(BatchDecorator, lambda function: BatchHandler(describe(function), app))
