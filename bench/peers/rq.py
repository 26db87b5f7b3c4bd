"""RQ: a process is forked for each job, or, with the option `simple`, none is."""

from __future__ import annotations

import os
from collections.abc import Sequence

from redis import Redis
from rq import Queue
from rq.job import Job
from rq.registry import StartedJobRegistry

from bench.adapter import URL, Meter, become

OPTION = os.environ.get("BENCH_OPTION", "fork")
WORKER = {"fork": "rq.worker.Worker", "simple": "rq.worker.SimpleWorker"}[OPTION]
# A process that ends with its job can only tell of that one.
METER = Meter(every=1) if OPTION == "fork" else Meter()


def noop(n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


class Client:
    """One queue."""

    packages = ("rq", "redis", "hiredis")

    def open(self) -> None:
        self._redis = Redis.from_url(URL)
        self._queue = Queue("default", connection=self._redis)

    def enqueue(self, n: int, sent: int) -> Job:
        return self._queue.enqueue("bench.peers.rq.noop", n, sent)

    def enqueue_many(self, numbers: Sequence[int]) -> None:
        self._queue.enqueue_many([Queue.prepare_data("bench.peers.rq.noop", (n, 0)) for n in numbers])

    def wait(self, job: Job) -> None:
        job.latest_result(timeout=30)

    def remaining(self) -> int:
        return self._queue.count + StartedJobRegistry(queue=self._queue).count

    def empty(self) -> None:
        self._redis.flushdb()


def work(processes: int) -> None:
    """As a user starts it."""
    options = ("--worker-class", WORKER, "--logging_level", "ERROR")
    become("rq", "worker", "--url", URL, *options, "default")
