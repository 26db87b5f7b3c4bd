"""Dramatiq: threads in processes, acknowledgement after the handler."""

from __future__ import annotations

import logging

import dramatiq
from dramatiq.brokers.rabbitmq import RabbitmqBroker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.message import Message
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bench.adapter import URL, Meter, become

METER = Meter()
ON_REDIS = not URL.startswith("amqp")
broker = RedisBroker(url=URL) if ON_REDIS else RabbitmqBroker(url=URL)
if ON_REDIS:
    broker.add_middleware(Results(backend=RedisBackend(url=URL)))
dramatiq.set_broker(broker)
logging.getLogger("dramatiq").setLevel(logging.ERROR)


@dramatiq.actor
def noop(n: int, sent: int) -> None:
    """What is measured."""
    METER.note(sent)


if ON_REDIS:

    @dramatiq.actor(store_results=True)
    def timed(n: int, sent: int) -> int:
        """The same with a result, for those who wait for it."""
        METER.note(sent)
        return n


class Client:
    """`send`, as in every tutorial."""

    packages = ("dramatiq", "redis", "hiredis", "pika")

    def open(self) -> None:
        broker.declare_queue("default")

    def enqueue(self, n: int, sent: int) -> Message:
        return timed.send(n, sent) if sent and ON_REDIS else noop.send(n, sent)

    def wait(self, message: Message) -> None:
        message.get_result(block=True, timeout=30_000)

    def remaining(self) -> int:
        return broker.client.hlen("dramatiq:default.msgs")

    def empty(self) -> None:
        broker.flush_all()


if not ON_REDIS:
    # A broker does not say how many messages are still unacknowledged, and keeps no results.
    del Client.remaining, Client.wait


def work(processes: int) -> None:
    """As a user starts it, with the usual eight threads a process."""
    become("dramatiq", "bench.peers.dramatiq", "--processes", str(processes), "--threads", "8")
