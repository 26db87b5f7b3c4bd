"""Webhooks: told of ends, signed so that others can check it, tried again, sent again, never sent into our network."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import itertools
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from http_receiver import Receiver, receiving
from http_world import SECRET, TENANT, World, client_of
from typer.testing import CliRunner

from backstay import Backstay, Hopeless
from backstay.cli.commands import backstay
from backstay.errors import InvalidSettings
from backstay.http import ApiKeyAccess, WebhookJobs, api
from backstay.model.webhooks import DELIVER
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres

numbers = itertools.count()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as found:
        yield found


@pytest.fixture(params=["sqlite", "postgres"])
async def told(request: pytest.FixtureRequest, tmp_path: Path, receiver: Receiver) -> AsyncIterator[World]:
    """An application whose jobs announce their ends, and that may send to the receiver."""
    url = f"sqlite:///{tmp_path / 'webhooks.db'}"
    if request.param == "postgres":
        server: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"webhooks_{next(numbers)}"
        server.create_database(name)
        url = server.url(name)
    app = announcing(url, allow=[f"127.0.0.1:{receiver.port}"])
    await app.migrate()
    world = World(app, api(app, authenticate=ApiKeyAccess(app).authenticate))
    made = await app.api_keys.create("admin", role="admin", tenant=TENANT)
    world.callers["admin *"] = client_of(world.site, made.text)
    yield world
    await world.admin.aclose()
    await app.close()


def announcing(url: str, *, allow: list[str]) -> Backstay:
    app = Backstay(url, emit=lambda event, **facts: None, settings={"tick": "100ms"})
    WebhookJobs(app, allow=allow)

    @app.job
    async def charge(card: str, *, works: bool = False) -> str:
        if not works:
            raise Hopeless(f"the card {card} was refused")
        return card

    return app


async def subscribed(world: World, receiver: Receiver, **more: Any) -> dict[str, Any]:
    body = {"name": "pager", "url": receiver.address, **more}
    answer = await world.admin.post("/webhooks", json=body)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def charged(world: World, *, works: bool = False) -> None:
    job = {"kind": "charge", "args": {"card": SECRET, "works": works}}
    assert (await world.admin.post("/jobs", json=job)).status_code == 201


async def settled(world: World) -> None:
    """Run until every job has ended, also those that are tried again, and webhooks were told of all ends."""
    worker = world.app.worker(concurrency=5)
    task = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(60):
            while await waits(world.app) or await is_untold(world.app) or await waits(world.app):
                await asyncio.sleep(0.02)
    finally:
        worker.stop()
        await task


async def waits(app: Backstay) -> bool:
    return any(count.state in ("available", "running", "scheduled") for count in await app.jobs.counts())


async def is_untold(app: Backstay) -> bool:
    look = await app._enqueuer.stores.service.outbox.look()
    has_webhooks = any(webhook.is_enabled for webhook in await app.webhooks.all())
    return has_webhooks and (look.has_new or look.told < look.last)


def standard_signature(secret: str, headers: dict[str, str], body: bytes) -> str:
    """The signature as standardwebhooks.com describes it, computed here."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()


async def test_a_death_is_told_once_signed_and_without_private_data(told: World, receiver: Receiver) -> None:
    made = await subscribed(told, receiver)
    await charged(told)
    await charged(told, works=True)
    await settled(told)

    [(headers, body)] = receiver.received
    message = json.loads(body)
    assert message["type"] == "job.dead"
    assert (message["data"]["kind"], message["data"]["tenant"]) == ("charge", TENANT)
    assert headers["webhook-signature"] == standard_signature(made["secret"], headers, body)
    assert SECRET.encode() not in body


async def test_the_older_form_of_a_signature(told: World, receiver: Receiver) -> None:
    made = await subscribed(told, receiver, form="sha256", events=["job.completed"])
    await charged(told, works=True)
    await settled(told)

    [(headers, body)] = receiver.received
    expected = hmac.new(made["secret"].encode(), body, hashlib.sha256).hexdigest()
    assert headers["x-signature-256"] == f"sha256={expected}"


async def test_a_receiver_that_cannot_now_is_tried_again_with_the_same_id(
    told: World, receiver: Receiver
) -> None:
    made = await subscribed(told, receiver)
    receiver.statuses = [503, 429]
    await charged(told)
    await settled(told)

    ids = [headers["webhook-id"] for headers, _ in receiver.received]
    [delivery] = (await told.admin.get(f"/webhooks/{made['webhook']['id']}/deliveries")).json()["items"]
    assert len(ids) == 3
    assert len(set(ids)) == 1
    assert (delivery["state"], delivery["status"], delivery["attempt"]) == ("completed", 204, 3)


async def test_a_refused_delivery_is_a_dead_letter_and_can_be_sent_again(
    told: World, receiver: Receiver
) -> None:
    made = await subscribed(told, receiver)
    path = f"/webhooks/{made['webhook']['id']}/deliveries"
    receiver.statuses = [410]
    await charged(told)
    await settled(told)
    [delivery] = (await told.admin.get(path)).json()["items"]
    assert delivery["state"] == "dead"
    assert "410" in delivery["error"]

    again = await told.admin.post(f"{path}/{delivery['job_id']}/redeliver")
    await settled(told)

    assert again.status_code == 202
    ids = [headers["webhook-id"] for headers, _ in receiver.received]
    assert ids == [delivery["message"]] * 2
    states = [one["state"] for one in (await told.admin.get(path)).json()["items"]]
    assert states == ["completed", "dead"]


async def test_a_rotated_secret_signs_beside_the_old_one_and_then_alone(
    told: World, receiver: Receiver
) -> None:
    made = await subscribed(told, receiver)
    path = f"/webhooks/{made['webhook']['id']}"
    new = (await told.admin.post(f"{path}/rotate", json={"overlap": "1h"})).json()["secret"]
    await told.admin.post(f"{path}/test")
    await settled(told)
    newest = (await told.admin.post(f"{path}/rotate", json={"overlap": "0s"})).json()["secret"]
    await told.admin.post(f"{path}/test")
    await settled(told)

    (first, first_body), (second, second_body) = receiver.received
    assert first["webhook-signature"].split() == [
        standard_signature(new, first, first_body),
        standard_signature(made["secret"], first, first_body),
    ]
    assert second["webhook-signature"] == standard_signature(newest, second, second_body)


async def test_only_those_are_told_who_want_to_hear_of_it(told: World, receiver: Receiver) -> None:
    await subscribed(told, receiver, kinds=["another"])
    await told.app.webhooks.create("theirs", receiver.address, tenant="globex")
    off = await subscribed(told, receiver)
    await told.admin.patch(f"/webhooks/{off['webhook']['id']}", json={"is_enabled": False})
    everybody = await told.app.webhooks.create("all", receiver.address, tenant="*")
    await charged(told)
    await settled(told)

    assert [headers["webhook-id"].split("_")[1] for headers, _ in receiver.received] == [
        everybody.webhook.id.hex
    ]


async def test_a_webhook_never_leads_into_our_own_network(tmp_path: Path, receiver: Receiver) -> None:
    app = announcing(f"sqlite:///{tmp_path / 'closed.db'}", allow=[])
    world = World(app, api(app, authenticate=ApiKeyAccess(app).authenticate))
    for url in (
        receiver.address,
        f"http://localhost:{receiver.port}/",
        f"https://[::ffff:127.0.0.1]:{receiver.port}/",
    ):
        webhook = (await app.webhooks.create("inside", url)).webhook
        await app.jobs.enqueue_by_name(
            "backstay.webhooks.deliver", {"webhook_id": str(webhook.id), "message": "msg_1", "body": "{}"}
        )
    await settled(world)

    letters = await app.dead_letters.open()
    assert receiver.received == []
    assert len(letters) == 3
    assert all("refused to call" in str((letter.error or {})["message"]) for letter in letters)
    await app.close()


@pytest.mark.parametrize(
    "url", ["ftp://example.com/", "https://user:pass@example.com/", "https:///x", "nonsense"]
)
async def test_an_address_that_cannot_be_called_is_refused(quick_world: World, url: str) -> None:
    with pytest.raises(InvalidSettings, match="URL"):
        await quick_world.app.webhooks.create("wrong", url)


async def test_secrets_are_shown_once(quick_world: World) -> None:
    answer = await quick_world.admin.post("/webhooks", json={"name": "x", "url": "https://example.com/hooks"})
    secret = answer.json()["secret"]

    for path in ("/webhooks", f"/webhooks/{answer.json()['webhook']['id']}", "/audit"):
        assert secret not in (await quick_world.admin.get(path)).text


OURS = {"kind": DELIVER, "args": {"webhook_id": "", "message": "", "body": ""}}


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/jobs", OURS),
        ("/jobs", {"kind": "backstay.alerts.tell", "args": {}}),
        ("/jobs/bulk", {"jobs": [OURS]}),
        ("/flows", {"name": "f", "jobs": [{"name": "one", **OURS}]}),
        ("/schedules", {"name": "s", "every": "1h", **OURS}),
    ],
)
async def test_nobody_enqueues_what_speaks_for_backstay(told: World, path: str, body: dict[str, Any]) -> None:
    refused = await told.admin.post(path, json=body)

    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed"), refused.text
    assert await told.app.jobs.counts() == []


async def test_a_delivery_of_another_tenant_sends_nothing(told: World, receiver: Receiver) -> None:
    made = await told.app.webhooks.create("pager", receiver.address, tenant="globex")
    forged = {"webhook_id": str(made.webhook.id), "message": "msg_1", "body": "{}"}
    await told.app.jobs.enqueue_by_name(DELIVER, forged, JobOptions(tenant=TENANT))

    await settled(told)

    [letter] = await told.app.dead_letters.open()
    assert receiver.received == []
    assert "another tenant" in str(letter.error)


async def test_a_delivery_is_not_run_again_with_another_body(told: World, receiver: Receiver) -> None:
    made = await subscribed(told, receiver)
    webhook = made["webhook"]["id"]
    sent = (await told.admin.post(f"/webhooks/{webhook}/test")).json()["job_id"]
    forged = {"args": {"webhook_id": webhook, "message": "msg_1", "body": "{}"}}

    refused = await told.admin.post(f"/jobs/{sent}/clone", json=forged)

    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")


async def test_every_kind_is_heard_whoever_ends_it(told: World, receiver: Receiver) -> None:
    """Also what an operator cancels, which no worker ever runs."""
    await subscribed(told, receiver, events=["job.dead", "job.cancelled"])
    later = {"kind": "charge", "args": {"card": SECRET}, "delay": "1h"}
    waiting = (await told.admin.post("/jobs", json=later)).json()["id"]
    await charged(told)
    await told.admin.post(f"/jobs/{waiting}/cancel", json={"reason": "not needed"})
    await settled(told)

    assert sorted(json.loads(body)["type"] for _, body in receiver.received) == ["job.cancelled", "job.dead"]
    [cancelled] = [json.loads(body) for _, body in receiver.received if b"job.cancelled" in body]
    assert cancelled["data"]["job_id"] == waiting


async def test_what_ended_before_a_webhook_is_not_told(told: World, receiver: Receiver) -> None:
    stream = told.app._enqueuer.stores.service.outbox
    await stream.listen_always("all")
    await charged(told)
    await settled(told)
    await subscribed(told, receiver)
    await charged(told)
    await settled(told)

    assert len(receiver.received) == 1


async def test_who_sends_a_test_or_a_message_again_is_written_down(told: World, receiver: Receiver) -> None:
    made = await subscribed(told, receiver)
    path = f"/webhooks/{made['webhook']['id']}"
    sent = (await told.admin.post(f"{path}/test")).json()["job_id"]
    await told.admin.post(f"{path}/deliveries/{sent}/redeliver")
    await settled(told)

    trail = (await told.admin.get("/audit")).json()["items"]
    actions = {line["action"]: line["actor"] for line in trail}
    assert actions["webhook.tested"] == actions["webhook.redelivered"] == actions["webhook.created"]
    assert (await told.app.jobs.get(UUID(sent))).created_by == actions["webhook.tested"]


async def test_the_command_line_sends_and_shows_deliveries(told: World, receiver: Receiver) -> None:
    webhook = str((await told.app.webhooks.create("pager", receiver.address)).webhook.id)

    async def run(*words: str) -> Any:
        done = await asyncio.to_thread(
            CliRunner().invoke, backstay, ["--json", "--url", told.app.url, "webhooks", *words]
        )
        assert done.exit_code == 0, done.output
        return json.loads(done.output)

    first = (await run("test", webhook))["job_id"]
    again = (await run("redeliver", webhook, first))["job_id"]
    await settled(told)

    shown = (await run("deliveries", webhook))["deliveries"]
    assert [one["id"] for one in shown] == [again, first]
    assert len({headers["webhook-id"] for headers, _ in receiver.received}) == 1
    assert len(receiver.received) == 2


async def test_a_tenant_at_its_quota_still_has_its_webhooks_told(told: World, receiver: Receiver) -> None:
    theirs = told.app.acting_as("ann", tenant="globex", rights={"*"})
    await told.app.webhooks.create("pager", receiver.address, tenant="globex", events=["job.cancelled"])
    jobs = [await theirs.jobs.enqueue("charge", {"card": "1"}) for _ in range(2)]
    await told.app.quotas.set(1, tenant="globex", reason="too much")
    await told.app.queues.pause("default", reason="so that it waits")
    await theirs.jobs.cancel(jobs[0].id, reason="not needed")

    worker = told.app.worker(queues=["webhooks"])
    running = asyncio.create_task(worker.run())
    async with asyncio.timeout(60):
        while not receiver.received:
            await asyncio.sleep(0.02)
    worker.stop()
    await running

    assert json.loads(receiver.received[0][1])["data"]["job_id"] == str(jobs[0].id)
