"""Live events over a WebSocket: one connection follows any number of topics.

The client sends `{"subscribe": "job:0190…"}`, with `"after": <position>` to go on after a lost connection, and
`{"unsubscribe": "job:0190…"}`. It is sent `{"channel": "job:0190…", "event": "job_status", "type": "state", "position":
7, "data": {…}}`. A browser is recognised by its session; a program by the header of any request, or by a first message
`{"authenticate": "<key or token>"}`.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing, suppress
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, WebSocket, WebSocketDisconnect

from backstay.client.acting.acting import Acting
from backstay.errors import BackstayError, InvalidSettings
from backstay.http.access import Person, acting
from backstay.http.caller import Service
from backstay.http.errors import problem_of
from backstay.kit.authentication import not_authenticated
from backstay.kit.problems import Problem
from backstay.model.live import LiveEvent, Scope, topic_of

AUTHENTICATES_WITHIN = 10.0
MOST_TOPICS = 1000
POLICY_VIOLATION = 1008


class LiveSocket:
    """One connection of a client."""

    def __init__(self, connection: WebSocket) -> None:
        self._connection = connection
        self._service: Service = connection.app.state.service
        self._following: dict[str, asyncio.Task[None]] = {}

    async def serve(self) -> None:
        """Recognise the client, then follow what it asks for until it leaves."""
        if not _is_same_site(self._connection):
            await self._connection.close(POLICY_VIOLATION)
            return
        await self._connection.accept()
        with suppress(WebSocketDisconnect):
            person = await self._person()
            if person is None:
                await self._refuse("", not_authenticated())
                await self._connection.close(POLICY_VIOLATION)
                return
            try:
                await self._listen(acting(self._service.app, person))
            finally:
                for task in self._following.values():
                    task.cancel()
                await asyncio.gather(*self._following.values(), return_exceptions=True)

    async def _person(self) -> Person | None:
        person = await self._recognised("")
        if person is not None:
            return person
        with suppress(TimeoutError):
            async with asyncio.timeout(AUTHENTICATES_WITHIN):
                asked = await self._message()
            return await self._recognised(str(asked.get("authenticate", "")))
        return None

    async def _recognised(self, key: str) -> Person | None:
        """Ask who sends the request that opened the connection, with this key in its header."""
        scope = {**self._connection.scope, "type": "http", "method": "GET"}
        if key:
            kept = [header for header in scope["headers"] if header[0] != b"authorization"]
            scope["headers"] = [*kept, (b"authorization", f"Bearer {key}".encode("latin-1", "replace"))]
        try:
            return await self._service.authenticate(Request(scope))
        except Problem as problem:
            await self._refuse("", problem)
            return None

    async def _listen(self, client: Acting) -> None:
        while True:
            asked = await self._message()
            if "subscribe" in asked:
                await self._subscribe(client, str(asked["subscribe"]), asked.get("after"))
            elif "unsubscribe" in asked:
                self._leave(str(asked["unsubscribe"]))
            else:
                await self._refuse(
                    "", Problem(400, "bad_request", "Send subscribe or unsubscribe, with a topic.")
                )

    async def _message(self) -> dict[str, Any]:
        """The next message; what is no JSON object is an empty one."""
        with suppress(ValueError):
            asked = json.loads(await self._connection.receive_text())
            if isinstance(asked, dict):
                return asked
        return {}

    async def _subscribe(self, client: Acting, topic: str, after: object) -> None:
        self._following = {name: task for name, task in self._following.items() if not task.done()}
        try:
            if len(self._following) >= MOST_TOPICS:
                raise InvalidSettings(f"one connection follows at most {MOST_TOPICS} topics")
            channel = str(topic_of(topic))
            position = after if isinstance(after, int) and after >= 0 else None
            events = await client.live.follow(channel, after=position)
        except BackstayError as error:
            await self._refuse(topic, problem_of(error))
            return
        self._leave(channel)
        self._following[channel] = asyncio.create_task(self._follow(channel, events))

    async def _follow(self, channel: str, events: Any) -> None:
        name = "job_status" if topic_of(channel).scope is Scope.JOB else "status"
        try:
            async with aclosing(events):
                async for event in events:
                    await self._connection.send_json(_written(channel, name, event))
        except BackstayError as error:
            await self._refuse(channel, problem_of(error))

    def _leave(self, channel: str) -> None:
        task = self._following.pop(channel, None)
        if task is not None:
            task.cancel()

    async def _refuse(self, channel: str, problem: Problem) -> None:
        told = {"status": problem.status, "code": problem.code, "detail": problem.detail}
        await self._connection.send_json({"channel": channel, "event": "error", "data": told})


def _written(channel: str, name: str, event: LiveEvent) -> dict[str, Any]:
    return {
        "channel": channel,
        "event": name,
        "type": event.type,
        "position": event.position,
        "data": event.data,
    }


def _is_same_site(connection: WebSocket) -> bool:
    """Return False where a browser says that another site opens the connection: it would bring our session along."""
    origin = connection.headers.get("origin")
    return not origin or urlsplit(origin).netloc.lower() == connection.headers.get("host", "").lower()
