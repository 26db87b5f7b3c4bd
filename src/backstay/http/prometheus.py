"""Everything countable as Prometheus reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from backstay.client.acting.acting import Acting
from backstay.model.figures import Depth, KindFigures
from backstay.model.health import HealthReport, HealthStatus
from backstay.model.records import WorkerRecord

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OF_KIND = ("queue", "kind")
QUANTILES = ("0.5", "0.95", "0.99")


@dataclass(frozen=True, eq=False)
class Facts(Collector):
    """What was found at one moment; names and labels hold no data of jobs."""

    depths: Sequence[Depth]
    kinds: Sequence[KindFigures]
    workers: Sequence[WorkerRecord]
    health: HealthReport
    counters: Mapping[str, int]

    def collect(self) -> Iterator[Metric]:
        """Yield every family of metrics."""
        yield from self._waiting()
        yield from self._attempts()
        yield from self._workers()
        yield from self._health()
        yield from self._counters()

    def _waiting(self) -> Iterator[Metric]:
        jobs = GaugeMetricFamily(
            "backstay_jobs", "Jobs that have not ended, and dead ones.", labels=("state", *OF_KIND)
        )
        oldest = GaugeMetricFamily(
            "backstay_oldest_ready_seconds", "For how long the first ready job has been due.", labels=OF_KIND
        )
        for depth in self.depths:
            jobs.add_metric([depth.state, depth.queue, depth.kind], depth.jobs)
            if depth.oldest_for is not None:
                oldest.add_metric([depth.queue, depth.kind], max(depth.oldest_for.total_seconds(), 0.0))
        yield from (jobs, oldest)

    def _attempts(self) -> Iterator[Metric]:
        ended = GaugeMetricFamily(
            "backstay_attempts_last_hour", "Attempts of the last hour.", labels=(*OF_KIND, "ended")
        )
        took = GaugeMetricFamily(
            "backstay_attempt_seconds_last_hour", "How long they took.", labels=(*OF_KIND, "quantile")
        )
        waited = GaugeMetricFamily(
            "backstay_wait_seconds_last_hour",
            "From when they were due to when they began.",
            labels=(*OF_KIND, "quantile"),
        )
        for one in self.kinds:
            figures, labels = one.figures, [one.queue, one.kind]
            for name in ("completed", "failed", "crashed", "dead"):
                ended.add_metric([*labels, name], getattr(figures, name))
            _add_quantiles(took, labels, (figures.p50_ms, figures.p95_ms, figures.p99_ms))
            _add_quantiles(waited, labels, (figures.wait_p50_ms, figures.wait_p95_ms, figures.wait_p99_ms))
        yield from (ended, took, waited)

    def _workers(self) -> Iterator[Metric]:
        workers = GaugeMetricFamily("backstay_workers", "Worker processes by state.", labels=("state",))
        for state, number in sorted(Counter(worker.state for worker in self.workers).items()):
            workers.add_metric([state], number)
        alive = [worker for worker in self.workers if worker.state == "alive"]
        slots = GaugeMetricFamily("backstay_worker_slots", "Slots of the workers that run.")
        slots.add_metric([], sum(worker.concurrency for worker in alive))
        running = GaugeMetricFamily("backstay_worker_slots_in_use", "Slots with a job in them.")
        running.add_metric([], sum(worker.running for worker in alive))
        yield from (workers, slots, running)

    def _health(self) -> Iterator[Metric]:
        status = GaugeMetricFamily("backstay_health", "1 for the present verdict.", labels=("status",))
        for each in HealthStatus:
            status.add_metric([each.value], float(self.health.status is each))
        stale = GaugeMetricFamily("backstay_stale_jobs", "Claims that ran out and nobody has taken over.")
        stale.add_metric([], self.health.stale_jobs)
        dead = GaugeMetricFamily("backstay_dead_letters_open", "Dead letters that nobody has closed.")
        dead.add_metric([], self.health.unresolved_dead_letters)
        yield from (status, stale, dead)

    def _counters(self) -> Iterator[Metric]:
        counted = CounterMetricFamily(
            "backstay_counter", "What the application counts itself.", labels=("name",)
        )
        for name, total in sorted(self.counters.items()):
            counted.add_metric([name], total)
        yield counted


def _add_quantiles(
    family: GaugeMetricFamily, labels: Sequence[str], milliseconds: Sequence[float | None]
) -> None:
    for share, value in zip(QUANTILES, milliseconds, strict=True):
        if value is not None:
            family.add_metric([*labels, share], value / 1000)


async def exposition(client: Acting) -> bytes:
    """Everything countable, as text."""
    facts = Facts(
        depths=await client.metrics.depths(),
        kinds=await client.metrics.by_kind(),
        workers=await client.workers.all(limit=1000),
        health=await client.health.check(),
        counters=await client.metrics.counters(),
    )
    registry = CollectorRegistry(auto_describe=False)
    registry.register(facts)
    return generate_latest(registry)
