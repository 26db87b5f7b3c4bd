"""Queues between the platform's parts by SQS's interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from backstay_watchpoint.services.outside import OutsideError

LONG_POLL_SECONDS = 2


class QueueError(OutsideError):
    """A queue refused or did not answer."""


@dataclass(frozen=True, slots=True)
class Received:
    """A message that stays in its queue until it is deleted."""

    body: dict[str, Any]
    receipt: str
    receive_count: int


class SqsQueues:
    """Queues by boto3, whose blocking calls run in threads; `urls` are those of the queues by name."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._urls: dict[str, str] = {}

    async def send(self, queue: str, body: Mapping[str, Any], dedupe_id: str) -> str:
        """Send a message without delay and return its id; raises QueueError."""
        url = await self._url(queue)
        attributes = {"dedupe_id": {"DataType": "String", "StringValue": dedupe_id}}
        sent = await self._call(
            self._client.send_message,
            QueueUrl=url,
            MessageBody=json.dumps(body),
            DelaySeconds=0,
            MessageAttributes=attributes,
        )
        return str(sent["MessageId"])

    async def receive(
        self, queue: str, *, most: int = 10, wait_seconds: int = LONG_POLL_SECONDS
    ) -> list[Received]:
        """Receive messages; each is hidden from others for the queue's visibility timeout. Raises QueueError."""
        answer = await self._call(
            self._client.receive_message,
            QueueUrl=await self._url(queue),
            MaxNumberOfMessages=most,
            WaitTimeSeconds=wait_seconds,
            MessageSystemAttributeNames=["ApproximateReceiveCount"],
        )
        return [
            Received(
                _read(message["Body"]),
                message["ReceiptHandle"],
                int(message.get("Attributes", {}).get("ApproximateReceiveCount", 1)),
            )
            for message in answer.get("Messages", ())
        ]

    async def delete(self, queue: str, received: Received) -> None:
        """Take a message out of its queue; raises QueueError."""
        await self._call(
            self._client.delete_message, QueueUrl=await self._url(queue), ReceiptHandle=received.receipt
        )

    async def create(self, queue: str, *, visibility_seconds: int = 30) -> None:
        """Create a queue if it is missing; raises QueueError."""
        attributes = {"VisibilityTimeout": str(visibility_seconds)}
        created = await self._call(self._client.create_queue, QueueName=queue, Attributes=attributes)
        self._urls[queue] = str(created["QueueUrl"])

    async def waiting(self, queue: str) -> int:
        """Return about how many messages a queue holds, those that somebody works on included."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        answer = await self._call(
            self._client.get_queue_attributes, QueueUrl=await self._url(queue), AttributeNames=names
        )
        return sum(int(answer["Attributes"][name]) for name in names)

    async def _url(self, queue: str) -> str:
        if queue not in self._urls:
            answer = await self._call(self._client.get_queue_url, QueueName=queue)
            self._urls[queue] = str(answer["QueueUrl"])
        return self._urls[queue]

    async def _call(self, method: Any, **asked: Any) -> Any:
        try:
            return await asyncio.to_thread(method, **asked)
        except (ClientError, BotoCoreError) as error:
            raise QueueError(str(error)) from error


def _read(text: str) -> dict[str, Any]:
    """Read a message's body; what is no JSON object is kept as text for a person to look at."""
    try:
        body = json.loads(text)
    except ValueError:
        return {"unreadable": text[:500]}
    return body if isinstance(body, dict) else {"unreadable": text[:500]}
