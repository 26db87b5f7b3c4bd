"""huey: threads; a job leaves the store when it is taken."""

from __future__ import annotations

from typing import Any

from huey import RedisHuey, SqliteHuey

from bench.adapter import URL, Meter, become

METER = Meter()
if URL.startswith("sqlite"):
    huey = SqliteHuey("bench", filename=URL.removeprefix("sqlite:///"))
else:
    huey = RedisHuey("bench", url=URL or "redis://", notify_result=True)


@huey.task(name="noop")
def noop(n: int, sent: int) -> None:
    """What is measured; no result is stored for None."""
    METER.note(sent)


@huey.task(name="timed")
def timed(n: int, sent: int) -> int:
    """The same with a result, for those who wait for it."""
    METER.note(sent)
    return n


class Client:
    """Calling a task enqueues it."""

    packages = ("huey", "redis", "hiredis")

    def open(self) -> None:
        huey.flush()

    def enqueue(self, n: int, sent: int) -> Any:
        return timed(n, sent) if sent else noop(n, sent)

    def wait(self, result: Any) -> None:
        result.get(blocking=True, timeout=30)

    def empty(self) -> None:
        huey.flush()


def work(processes: int) -> None:
    """As a user starts it, with a few threads and without the search for periodic tasks."""
    become("huey_consumer", "bench.peers.huey.huey", "-k", "thread", "-w", "4", "-n", "-q")
