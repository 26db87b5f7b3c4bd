"""Live status over HTTP: server-sent events of a real server, and a WebSocket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
import websockets
from http_server import PATIENCE, Served, served

ADD = {"kind": "add", "args": {"a": 1, "b": 2}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("live")
    with served(f"sqlite:///{folder / 'live.db'}", folder / "server.log") as found:
        yield found
    assert "Traceback" not in (folder / "server.log").read_text()


@pytest.fixture
async def caller(server: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.address, headers=server.headers, timeout=PATIENCE) as client:
        yield client


async def stored(caller: httpx.AsyncClient) -> str:
    answer = await caller.post("/jobs", json=ADD)
    return str(answer.json()["id"])


async def events_of(answer: httpx.Response) -> AsyncGenerator[dict[str, Any]]:
    """Events as a browser reads them."""
    event: dict[str, Any] = {}
    async with aclosing(answer.aiter_lines()) as lines:  # type: ignore[type-var]  # httpx makes a generator
        async for line in lines:
            if not line and "data" in event:
                yield event
                event = {}
            name, _, value = line.partition(": ")
            if name in ("id", "event", "data"):
                event[name] = json.loads(value) if name == "data" else value


async def test_a_job_is_followed_and_the_stream_goes_on_after_a_lost_connection(
    caller: httpx.AsyncClient,
) -> None:
    job = await stored(caller)

    async with caller.stream("GET", f"/live/jobs/{job}") as answer:
        events = events_of(answer)
        first = await anext(events)
        await caller.post(f"/jobs/{job}/hold", json={"reason": "wait"})
        second = await anext(events)
        await events.aclose()
    await caller.post(f"/jobs/{job}/release")
    async with caller.stream("GET", f"/live/jobs/{job}", headers={"Last-Event-ID": second["id"]}) as answer:
        events = events_of(answer)
        third = await anext(events)
        await events.aclose()

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert [one["event"] for one in (first, second, third)] == ["state", "change", "change"]
    assert [one["data"]["state"] for one in (first, second, third)] == ["available", "held", "available"]
    assert int(first["id"]) < int(second["id"]) < int(third["id"])


async def test_a_stream_of_what_is_not_there_is_a_problem_and_no_stream(
    caller: httpx.AsyncClient, server: Served
) -> None:
    answer = await caller.get("/live/jobs/01890a5d-ac96-774b-bcce-b302099a8057")
    async with httpx.AsyncClient(base_url=server.address) as stranger:
        nobody = await stranger.get("/live")

    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert nobody.status_code == 401


async def test_one_socket_follows_several_jobs(caller: httpx.AsyncClient, server: Served) -> None:
    """ENG-097: the channel `job:<id>` with the event `job_status`."""
    jobs = [await stored(caller) for _ in range(2)]
    address = server.address.replace("http", "ws") + "/live/socket"

    async with websockets.connect(address, additional_headers=server.headers) as socket:
        for job in jobs:
            await socket.send(json.dumps({"subscribe": f"job:{job}"}))
        first = [json.loads(await socket.recv()) for _ in jobs]
        await caller.post(f"/jobs/{jobs[1]}/hold", json={"reason": "wait"})
        change = json.loads(await socket.recv())
        await socket.send(json.dumps({"unsubscribe": f"job:{jobs[1]}"}))
        await socket.send(json.dumps({"subscribe": "job:7"}))
        refused = json.loads(await socket.recv())

    assert {told["channel"] for told in first} == {f"job:{job}" for job in jobs}
    assert {(told["event"], told["type"]) for told in first} == {("job_status", "state")}
    assert (change["channel"], change["event"], change["data"]["state"]) == (
        f"job:{jobs[1]}",
        "job_status",
        "held",
    )
    assert (refused["event"], refused["data"]["status"]) == ("error", 422)


async def test_a_socket_says_who_it_is_in_its_first_message(server: Served) -> None:
    address = server.address.replace("http", "ws") + "/live/socket"

    async with websockets.connect(address) as socket:
        await socket.send(json.dumps({"authenticate": server.token}))
        await socket.send(json.dumps({"subscribe": "all"}))
        assert json.loads(await socket.recv())["event"] == "status"
    async with websockets.connect(address) as socket:
        await socket.send(json.dumps({"authenticate": "wrong"}))
        assert json.loads(await socket.recv())["data"]["status"] == 401
        with pytest.raises(websockets.ConnectionClosed):
            await asyncio.wait_for(socket.recv(), PATIENCE)


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Host": "evil.example"}])
async def test_another_site_opens_no_socket(server: Served, headers: dict[str, str]) -> None:
    address = server.address.replace("http", "ws") + "/live/socket"

    with pytest.raises((websockets.InvalidStatus, websockets.ConnectionClosed)):
        async with websockets.connect(address, additional_headers={**server.headers, **headers}) as socket:
            await socket.recv()
