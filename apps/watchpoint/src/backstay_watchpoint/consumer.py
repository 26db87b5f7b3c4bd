"""The consumer process: takes messages from the queues and hands each over as a job, under the message's own key."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from backstay.errors import IdempotencyMismatch
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.queues import QueueError, Received

log = logging.getLogger(__name__)

_REST_SECONDS = 2.0


class Consumer:
    """Reads both queues until it is stopped.

    A message is deleted only after its job is stored; one that comes again finds the job by its key.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        settings = jobs.platform.settings
        self.queues = (settings.notification_queue, settings.eval_queue)
        self.stopping = asyncio.Event()

    async def run(self) -> None:
        """Consume until `stopping` is set."""
        await asyncio.gather(*(self._run(queue) for queue in self.queues))

    async def take_once(self, queue: str, *, wait_seconds: int = 0) -> int:
        """Receive what there is at the moment, at most ten messages, and hand it over."""
        received = await self._jobs.platform.queues.receive(queue, wait_seconds=wait_seconds)
        for message in received:
            await self._hand_over(message)
            await self._jobs.platform.queues.delete(queue, message)
        return len(received)

    async def _run(self, queue: str) -> None:
        while not self.stopping.is_set():
            try:
                await self.take_once(queue, wait_seconds=1)
            except QueueError as error:
                log.warning("queue %s does not answer: %s", queue, error)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.stopping.wait(), _REST_SECONDS)

    async def _hand_over(self, message: Received) -> None:
        """Store the message's job; one that cannot be read becomes a dead letter instead of blocking the queue."""
        dedupe_id = message.body.get("dedupe_id")
        key = dedupe_id if isinstance(dedupe_id, str) and dedupe_id else None
        try:
            await self._jobs.deliver_message.options(key=key).enqueue(body=message.body)
        except IdempotencyMismatch:
            log.warning("message %s came again with another content and is dropped", key)
