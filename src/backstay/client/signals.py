"""Signals: telling a job what it waits for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from backstay.client.arguments import job_id as to_id
from backstay.client.arguments import who
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.client.jobs import Jobs
from backstay.client.retry_until_known import until_certain
from backstay.handle import JobHandle
from backstay.handlers import codec
from backstay.model.signals import NewSignal, Signal
from backstay.wakeups.contract import LATER, queue_hint


@dataclass(frozen=True)
class Signals:
    """The signals of one application's jobs, from one event loop."""

    _enqueuer: Enqueuer
    _jobs: Jobs

    async def send(
        self,
        job: JobHandle[Any] | UUID | str,
        name: str,
        payload: Any = None,
        *,
        key: str | None = None,
        by: str = "client",
    ) -> bool:
        """Send a job what its handler waits for, or will wait for: the payload is kept until it does.

        Signals of one name are received in the order in which they were sent. Sent again under the same `key`, a
        signal is there once; False tells that it was there already. Raises InvalidPayload for what JSON cannot hold,
        JobNotFound, and SignalRefused for a job that has ended.
        """
        signal = NewSignal(
            job_id=to_id(job.id if isinstance(job, JobHandle) else job),
            name=codec.check_key("signal", name),
            # Without a key of the sender's, one of our own: after a lost reply the same signal is sent again.
            key=str(self._enqueuer.env.new_id()) if key is None else codec.check_key("key", key),
            payload=None if payload is None else codec.encode(payload, what="payload"),
            sent_by=who(by),
        )
        sent = await until_certain(
            lambda: self._enqueuer.stores.signals.send(signal),
            what="signal",
            ids=[signal.job_id],
            env=self._enqueuer.env,
        )
        if sent.queue is not None:
            self._enqueuer.wakeups.send(queue_hint(sent.queue), LATER)
        return sent.is_new

    async def of_job(self, job: JobHandle[Any] | UUID | str) -> list[Signal]:
        """What a job has received, in the order in which it came; raises JobNotFound."""
        found = await self._jobs.get(job.id if isinstance(job, JobHandle) else job)
        return await self._enqueuer.stores.signals.of_job(found.id)
