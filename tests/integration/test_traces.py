"""Traces: from the enqueue in one process to each run in another, with what a handler does inside."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from backstay import Backstay, Hopeless, Retry, Snooze
from backstay.context import current
from backstay.integrations.opentelemetry import trace_jobs
from backstay.options import NO_OPTIONS, JobOptions
from backstay.testing import PrivatePostgres

SECRET = "canary-92b1"


class Traced:
    """An application that stores and another that runs, as two processes would, each with spans of its own."""

    def __init__(self, url: str) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.client, self.server = self.application(url), self.application(url)

    def application(self, url: str) -> Backstay:
        app = Backstay(url, emit=lambda event, **facts: None)
        trace_jobs(app, self.provider)
        tracer = self.provider.get_tracer("handler")

        @app.job
        async def charge(card: str) -> str:
            with tracer.start_as_current_span("call the bank"):
                return card

        @app.job
        def count(card: str) -> int:
            return len(card)

        @app.job(max_attempts=2, backoff="0s")
        async def fail(card: str) -> None:
            raise Retry(f"no {card}")

        @app.job(max_attempts=1)
        async def refuse(card: str) -> None:
            raise Hopeless(f"no {card}")

        return app

    async def run(self) -> dict[str, list[ReadableSpan]]:
        """Run what waits; returns the spans by name."""
        await self.server.worker(until_empty=True).run()
        found: dict[str, list[ReadableSpan]] = {}
        for span in self.exporter.get_finished_spans():
            found.setdefault(span.name, []).append(span)
        return found


@pytest.fixture(params=["sqlite", "postgres"])
async def traced(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Traced]:
    url = f"sqlite:///{tmp_path / 'traces.db'}"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        server.create_database("traces")
        url = server.url("traces")
    found = Traced(url)
    await found.client.migrate()
    yield found
    await found.client.close()
    await found.server.close()
    if request.param == "postgres":
        server.drop_database("traces")


def trace_of(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def is_child(span: ReadableSpan, parent: ReadableSpan) -> bool:
    assert parent.context is not None
    return span.parent is not None and span.parent.span_id == parent.context.span_id


@pytest.mark.parametrize("kind", ["charge", "count"])
async def test_a_run_follows_from_its_enqueue_in_another_process(traced: Traced, kind: str) -> None:
    tracer = traced.provider.get_tracer("shop")
    with tracer.start_as_current_span("order"):
        await traced.client.jobs.enqueue_by_name(kind, {"card": SECRET})

    spans = await traced.run()

    [order], [enqueue], [run] = spans["order"], spans[f"enqueue {kind}"], spans[f"run {kind}"]
    assert is_child(enqueue, order)
    assert is_child(run, enqueue)
    assert {trace_of(span) for span in (order, enqueue, run)} == {trace_of(order)}
    assert run.attributes is not None
    assert (run.attributes["backstay.kind"], run.attributes["backstay.attempt"]) == (kind, 1)
    if kind == "charge":
        assert is_child(spans["call the bank"][0], run)


async def test_each_attempt_is_a_span_and_tells_how_it_ended(traced: Traced) -> None:
    await traced.client.jobs.enqueue_by_name("fail", {"card": SECRET})

    spans = await traced.run()

    [enqueue], runs = spans["enqueue fail"], spans["run fail"]
    assert [is_child(run, enqueue) for run in runs] == [True, True]
    assert [run.attributes and run.attributes["backstay.attempt"] for run in runs] == [1, 2]
    assert {run.status.status_code for run in runs} == {trace.StatusCode.ERROR}
    assert {run.status.description for run in runs} == {"Retry"}


async def test_no_span_holds_what_is_private(traced: Traced) -> None:
    for kind in ("charge", "refuse"):
        await traced.client.jobs.enqueue_by_name(kind, {"card": SECRET})

    await traced.run()

    told = "".join(span.to_json() for span in traced.exporter.get_finished_spans())
    assert "run refuse" in told
    assert SECRET not in told


async def test_the_same_key_stands_for_the_same_job_in_another_trace(traced: Traced) -> None:
    first, again = [
        await traced.client.jobs.enqueue_by_name("count", {"card": "1"}, JobOptions(key="order-1"))
        for _ in range(2)
    ]

    assert (first.id, again.is_new) == (again.id, False)
    assert (await traced.client.jobs.get(first.id)).metadata.keys() == {"traceparent"}


async def test_many_jobs_are_traced_each_by_itself(traced: Traced) -> None:
    client = traced.client.acting_as("shop", tenant="", rights={"*"})
    await client.jobs.enqueue_many([("count", {"card": str(number)}, NO_OPTIONS) for number in range(3)])

    spans = await traced.run()

    assert len({trace_of(span) for span in spans["run count"]}) == 3
    assert {trace_of(span) for span in spans["enqueue count"]} == {
        trace_of(span) for span in spans["run count"]
    }


async def test_a_job_that_looks_again_later_has_not_failed(traced: Traced) -> None:
    @traced.server.job(kind="later", runs_in="loop")
    async def later() -> None:
        if current().run == 1:
            raise Snooze("0s")

    await traced.server.jobs.enqueue_by_name("later")

    spans = await traced.run()

    assert {run.status.status_code for run in spans["run later"]} == {trace.StatusCode.UNSET}
