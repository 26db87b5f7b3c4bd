"""Webhooks: signed bytes, the same on each attempt, tried again until they arrive or are given up."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from passport_world import World
from sqlalchemy import select

from backstay import State
from backstay.testing import SyncHarness
from backstay_parts.faults import Fault, FaultProxy
from backstay_parts.servers import free_port
from backstay_parts.webhooks import WebhookReceiver
from backstay_passport.actions import audit, snapshots, webhooks
from backstay_passport.domain.errors import InvalidInput
from backstay_passport.job_views import job_view
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.store.tables import webhook_deliveries


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    """A real HTTP server that remembers what it was sent."""
    with WebhookReceiver() as server:
        yield server


def add_hook(world: World, url: str, *types: str) -> bytes:
    """An endpoint; return its secret."""
    return base64.b64decode(webhooks.add(world.services, world.tenant, url, types)["secret"])


def deliveries(world: World) -> list[Any]:
    """All deliveries."""
    with world.services.database.read() as connection:
        return list(connection.execute(select(webhook_deliveries)).mappings())


def test_an_event_is_delivered_with_a_signature_over_its_bytes(
    runner: SyncHarness, world: World, receiver: WebhookReceiver
) -> None:
    """BPC-039, BPC-042, TC-P8-01, TC-P8-02, TC-P8-07: one delivery for each endpoint; HMAC, headers, answer stored."""
    receiver.plan([{"status": 201, "body": "thank you", "headers": {"X-Seen": "yes"}}])
    path = f"/ok-{world.tenant}"
    secret = add_hook(world, receiver.url + path, "SNAPSHOT_CREATED")
    add_hook(world, f"http://127.0.0.1:{free_port()}/other", "PASSPORT_REVOKED")
    snapshot_id = snapshots.create(world.services, world.tenant, "s")

    assert runner.drain().completed == 1

    [got] = receiver.deliveries(path=path)
    headers = {name.lower(): value for name, value in got.headers.items()}
    expected = hmac.new(secret, got.body, hashlib.sha256).hexdigest()
    assert headers["x-bpc-signature"] == f"sha256={expected}"
    assert headers["x-bpc-event-type"] == "SNAPSHOT_CREATED"
    assert headers["content-type"] == "application/json"
    body = json.loads(got.body)
    assert set(body) == {"event_id", "event_type", "aggregate_type", "aggregate_id", "occurred_at", "payload"}
    assert (body["aggregate_id"], body["payload"]) == (snapshot_id, {"name": "s"})
    [row] = deliveries(world)
    assert headers["x-bpc-delivery-id"] == row["id"]
    assert (row["status"], row["http_status"], bytes(row["response_body"])) == (
        "DELIVERED",
        201,
        b"thank you",
    )
    assert json.loads(row["response_headers"])["x-seen"] == "yes"
    assert [event.event_type for event in world.events("WEBHOOK_DELIVERED")] == ["WEBHOOK_DELIVERED"]


def test_a_failed_delivery_is_tried_again_with_the_same_bytes(
    runner: SyncHarness, world: World, receiver: WebhookReceiver
) -> None:
    """BPC-040, BPC-041, TC-P8-03, TC-P8-05: 500, a reset connection, 404, then 200; the body never changes."""
    path = f"/again-{world.tenant}"
    with FaultProxy.before(receiver.url) as proxy:
        add_hook(world, proxy.url + path, "SNAPSHOT_CREATED")
        receiver.plan([500, 404])
        proxy.next_faults([Fault.PASS, Fault.RESET, Fault.PASS])
        snapshots.create(world.services, world.tenant, "s")

        drained = runner.drain(with_scheduled=True)

    assert (drained.retrying, drained.completed) == (3, 1)
    got = receiver.deliveries(path=path)
    assert [one.status for one in got] == [500, 404, 200]
    assert len({one.body for one in got}) == 1
    [row] = deliveries(world)
    assert (row["status"], row["attempts"]) == ("DELIVERED", 4)
    assert len(world.events("WEBHOOK_FAILED")) == 3


def test_a_dead_endpoint_ends_as_a_dead_letter(runner: SyncHarness, world: World) -> None:
    """BPC-001, BPC-003, BPC-004, BPC-040, BPC-052, TC-P1-06, TC-P1-07, TC-P8-06: 2, 4, 8, 16 s, then DEAD_LETTER."""
    add_hook(world, f"http://127.0.0.1:{free_port()}/nobody", "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")

    ran = [one.job for one in runner.drain(with_scheduled=True).attempts]

    waits = [round((job.run_at - job.updated_at).total_seconds()) for job in ran[:-1]]
    assert waits == [2, 4, 8, 16]
    view = job_view(world.services, ran[-1])
    assert (view["status"], view["attempts"]) == ("DEAD_LETTER", 5)
    assert view["last_error"]["code"] == "WEBHOOK_DELIVERY_FAILED"
    [row] = deliveries(world)
    assert (row["status"], row["attempts"]) == ("FAILED", 5)
    # Events about deliveries are not delivered themselves: that would never end.
    assert len(deliveries(world)) == 1


@pytest.mark.parametrize("slow", ["delay", "drip"])
def test_the_time_limit_covers_the_whole_answer(
    runner: SyncHarness, world: World, receiver: WebhookReceiver, slow: str
) -> None:
    """BPC-040, TC-P8-04: a receiver that answers late, or drop by drop, is a timeout and is tried again."""
    assert world.services.settings.webhook_timeout == timedelta(seconds=30)
    world.services.settings = replace(world.services.settings, webhook_timeout=timedelta(seconds=1))
    receiver.plan([{slow: 20}])
    add_hook(world, f"{receiver.url}/slow-{world.tenant}", "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")

    drained = runner.drain()

    [ran] = drained.attempts
    assert ran.job.state is State.SCHEDULED
    assert ran.job.error is not None
    assert ran.job.error["code"] == "WEBHOOK_TIMEOUT"
    assert deliveries(world)[0]["error"] == "timeout"


@pytest.mark.prove
@pytest.mark.timeout(200)
def test_thirty_seconds_are_the_limit_of_a_slow_drip(
    runner: SyncHarness, world: World, receiver: WebhookReceiver
) -> None:
    """BPC-040, TC-P8-04: the real limit, once, against an answer that drips for twice as long."""
    receiver.plan([{"drip": 60}])
    add_hook(world, f"{receiver.url}/drip-{world.tenant}", "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")
    began = time.monotonic()

    [ran] = runner.drain().attempts

    assert 30 <= time.monotonic() - began < 60
    assert ran.job.error is not None
    assert ran.job.error["code"] == "WEBHOOK_TIMEOUT"


@pytest.mark.prove
@pytest.mark.timeout(200)
async def test_a_flaky_receiver_is_asked_again_after_two_four_and_eight_seconds(
    tmp_path: Path, receiver: WebhookReceiver
) -> None:
    """BPC-001, BPC-003, TC-P1-06: three failures and a success in real time; the fourth attempt succeeds."""
    url = f"sqlite:///{tmp_path / 'flaky.db'}"
    services = build(Settings(database_url=url, webhook_allow=("127.0.0.1",)))
    await services.app.migrate()
    world = World(services)
    path = f"/flaky-{world.tenant}"
    receiver.plan([500, 500, 500])
    add_hook(world, receiver.url + path, "SNAPSHOT_CREATED")
    await asyncio.to_thread(snapshots.create, services, world.tenant, "s")
    times: list[float] = []
    async with services.app.working(concurrency=1):
        while len(times) < 4:
            await asyncio.sleep(0.05)
            times += [time.monotonic()] * (len(receiver.deliveries(path=path)) - len(times))
        while deliveries(world)[0]["status"] != "DELIVERED":
            await asyncio.sleep(0.05)
    gaps = [after - before for before, after in pairwise(times)]
    sys.stdout.write(f"gaps of {', '.join(f'{gap:.1f}' for gap in gaps)} s\n")
    # Never too early; how late depends on who else uses the machine.
    assert [gap >= least - 0.5 for gap, least in zip(gaps, (2, 4, 8), strict=True)] == [True] * 3
    assert deliveries(world)[0]["attempts"] == 4
    await services.app.close()
    services.close()


def test_a_redirect_is_not_followed(runner: SyncHarness, world: World, receiver: WebhookReceiver) -> None:
    """BPC-041: a redirect is an answer that is not 2xx."""
    path = f"/moved-{world.tenant}"
    receiver.plan([{"status": 302, "headers": {"Location": f"{receiver.url}/elsewhere-{world.tenant}"}}])
    add_hook(world, receiver.url + path, "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")

    runner.drain()

    assert deliveries(world)[0]["error"] == "HTTP 302"
    assert receiver.deliveries(path=f"/elsewhere-{world.tenant}") == []


def test_private_addresses_are_refused_unless_allowed(runner: SyncHarness, world: World) -> None:
    """BPC-041: nobody is led into our own network; one attempt, because it would never work."""
    world.services.settings = replace(world.services.settings, webhook_allow=())
    add_hook(world, "https://127.0.0.1:1/x", "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")

    drained = runner.drain()

    assert drained.dead == 1
    error = drained.attempts[0].job.error
    assert error is not None
    assert "cannot be called" in error["message"]
    [row] = deliveries(world)
    assert (row["status"], row["attempts"]) == ("FAILED", 1)
    assert "cannot be called" in row["error"]


def test_an_address_that_is_none_is_refused_at_once(world: World) -> None:
    """BPC-041: bad addresses are not stored."""
    for url in ("", "ftp://x", "not an address"):
        with pytest.raises(InvalidInput):
            webhooks.add(world.services, world.tenant, url, [])


def test_a_delivery_can_be_made_again(runner: SyncHarness, world: World, receiver: WebhookReceiver) -> None:
    """BPC-039: redelivery sends the same bytes once more."""
    path = f"/twice-{world.tenant}"
    add_hook(world, receiver.url + path, "SNAPSHOT_CREATED")
    snapshots.create(world.services, world.tenant, "s")
    runner.drain()

    webhooks.redeliver(world.services, world.tenant, deliveries(world)[0]["id"])
    runner.drain()

    first, second = receiver.deliveries(path=path)
    assert first.body == second.body
    assert audit.verify_chains(world.services, world.tenant)[1] == []
