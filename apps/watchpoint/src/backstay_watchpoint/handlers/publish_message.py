"""publish_message: sends one message to a queue after the transaction that it belongs to has committed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.ext.asyncio import AsyncConnection

from backstay import Handler
from backstay_watchpoint.handlers.patience import ATTEMPTS, BACKOFF
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services.work import OutgoingMessage, QueueName

QUEUE = "publish"


def register(platform: Platform, on_failure: Handler[..., Any]) -> Handler[..., Any]:
    """Register the handler; a queue that does not answer is tried again for two days."""

    @platform.app.job(
        kind="publish_message",
        queue=QUEUE,
        max_attempts=ATTEMPTS,
        backoff=BACKOFF,
        timeout="30s",
        on_dead=on_failure,
        on_cancelled=on_failure,
    )
    async def publish_message(queue: str, body: dict[str, Any], dedupe_id: str) -> str:
        """Send one message; receivers know it by its deduplication id, should it come twice."""
        return await platform.queues.send(queue, body, dedupe_id)

    return publish_message


class JobPublisher:
    """Publishes by jobs that are part of the caller's transaction: sent if it commits, and only then."""

    def __init__(
        self,
        platform: Platform,
        *,
        publish: Handler[..., Any],
        canaries: Handler[..., Any],
        results: Handler[..., Any],
    ) -> None:
        settings = platform.settings
        self._queues = {
            QueueName.NOTIFICATIONS: settings.notification_queue,
            QueueName.EVAL_STANDARD: settings.eval_queue,
        }
        self._publish, self._canaries, self._results = publish, canaries, results

    async def publish(self, transaction: AsyncConnection, messages: Sequence[OutgoingMessage]) -> None:
        """Make the messages part of the transaction."""
        await self._publish.options(tx=transaction).enqueue_many(
            [
                {
                    "queue": self._queues[message.queue],
                    "body": dict(message.body),
                    "dedupe_id": message.dedupe_id,
                }
                for message in messages
            ]
        )

    async def check_canaries(self, transaction: AsyncConnection, batch: str, now: datetime) -> None:
        """Have the canaries checked once the verification results of a batch have arrived."""
        options = self._canaries.options(tx=transaction, correlation_id=batch, key=batch)
        await options.enqueue(batch=batch, reference_time=now)

    async def collect_results(self, transaction: AsyncConnection, batch: str, now: datetime) -> None:
        """Have the calibration results of a batch waited for."""
        options = self._results.options(tx=transaction, correlation_id=batch, key=batch)
        await options.enqueue(batch=batch, reference_time=now)
