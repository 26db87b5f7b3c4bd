"""Traces from the enqueue of a job to its end, across processes: pip install 'backstay[otel]'."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import wraps
from typing import Any

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, TracerProvider
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from backstay.app import Backstay
from backstay.context import Context, current, is_running_here
from backstay.errors import Cancel, EndOfAttempt, Snooze
from backstay.handlers.spec import HandlerSpec
from backstay.settings.version import __version__

CARRIER = TraceContextTextMapPropagator()
NO_FAILURES = (Snooze, Cancel)
"""How handlers end an attempt that has not failed."""


def trace_jobs(app: Backstay, provider: TracerProvider | None = None) -> None:
    """Make a span for each enqueue and one for each run, and let the second follow from the first.

    ```python
    app = Backstay()
    trace_jobs(app)
    ```

    The trace travels with the job, in its metadata (`traceparent`), so that a worker elsewhere goes on with it; spans
    that a handler makes are children of its run. Arguments and results are never in a span. Batches are not traced.
    """
    tracer = trace.get_tracer("backstay", __version__, provider)
    app._builder.carry = lambda spec: _enqueued(tracer, spec)
    app._registry.change_each(lambda spec: _traced(tracer, spec))


def _enqueued(tracer: Tracer, spec: HandlerSpec) -> Mapping[str, str]:
    """The span of an enqueue, as what the job carries."""
    carried: dict[str, str] = {}
    facts: dict[str, Any] = {
        "messaging.system": "backstay",
        "messaging.destination.name": spec.queue,
        "backstay.kind": spec.kind,
    }
    with tracer.start_as_current_span(f"enqueue {spec.kind}", kind=SpanKind.PRODUCER, attributes=facts):
        CARRIER.inject(carried)
    return carried


def _traced(tracer: Tracer, spec: HandlerSpec) -> HandlerSpec:
    if spec.function is None or spec.batching is not None:
        return spec
    return replace(spec, function=_around(tracer, spec.function, is_async=spec.is_async))


def _around(tracer: Tracer, function: Callable[..., Any], *, is_async: bool) -> Callable[..., Any]:
    """The handler's function within the span of a run; called outside of a job, it is itself."""
    if is_async:

        @wraps(function)
        async def traced(*args: Any, **kwargs: Any) -> Any:
            if not is_running_here():
                return await function(*args, **kwargs)
            with _run(tracer, current()):
                return await function(*args, **kwargs)

        return traced

    @wraps(function)
    def traced_sync(*args: Any, **kwargs: Any) -> Any:
        if not is_running_here():
            return function(*args, **kwargs)
        with _run(tracer, current()):
            return function(*args, **kwargs)

    return traced_sync


@contextmanager
def _run(tracer: Tracer, job: Context) -> Iterator[Span]:
    facts: dict[str, Any] = {
        "messaging.system": "backstay",
        "messaging.destination.name": job.queue,
        "messaging.message.id": str(job.job_id),
        "backstay.kind": job.kind,
        "backstay.attempt": job.attempt,
    }
    parent = CARRIER.extract({name: str(value) for name, value in job.metadata.items()})
    with tracer.start_as_current_span(
        f"run {job.kind}",
        context=parent,
        kind=SpanKind.CONSUMER,
        attributes=facts,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except NO_FAILURES:
            raise
        except BaseException as error:
            # Its type alone: the text of an error may hold what is private.
            span.set_status(Status(StatusCode.ERROR, type(error).__name__))
            span.set_attribute("error.type", type(error).__name__)
            span.set_attribute("backstay.is_final", isinstance(error, EndOfAttempt))
            raise
