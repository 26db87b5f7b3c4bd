"""Celery: prefork workers, early acknowledgement and no stored results, which is its fast and usual way."""

from __future__ import annotations

from celery import Celery
from celery.result import AsyncResult

from bench.adapter import URL, Meter, become

METER = Meter()
app = Celery("bench", broker=URL, backend=URL if URL.startswith("redis") else "rpc://")
app.conf.update(
    task_ignore_result=True,
    broker_pool_limit=20,
    # The documentation's range for many short tasks is 50 to 150.
    worker_prefetch_multiplier=100,
    broker_connection_retry_on_startup=True,
    worker_hijack_root_logger=False,
)


@app.task(name="noop")
def noop(n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


@app.task(name="timed", ignore_result=False)
def timed(n: int, sent: int) -> int:
    """The same with a result, for those who wait for it."""
    METER.note(sent)
    return n


class Client:
    """`delay`, as in every tutorial."""

    packages = ("celery", "kombu", "redis", "amqp")

    def open(self) -> None:
        app.control.purge()

    def enqueue(self, n: int, sent: int) -> AsyncResult:
        return timed.delay(n, sent) if sent else noop.delay(n, sent)

    def wait(self, handle: AsyncResult) -> None:
        handle.get(timeout=30)

    def empty(self) -> None:
        app.control.purge()


def work(processes: int) -> None:
    """As a user starts it, without the chatter between workers."""
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel", "ERROR")
    become("celery", "-A", "bench.peers.celery:app", "worker", "-P", "prefork", "-c", str(processes), *quiet)
