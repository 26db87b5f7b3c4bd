"""Alerts, API keys and the verification of the audit trail, on their pages."""

from __future__ import annotations

import re
from uuid import uuid4

from dashboard_browser import OF_RED, OPERATOR, VIEWER, Browser, browser_of
from dashboard_jobs import enqueue

from backstay import Backstay
from backstay.kit.hrefs import path_of
from backstay.model.alerts import Firing
from backstay.testing.contract.support import new_worker


async def test_sees_which_rule_fires_mutes_it_and_lets_it_be_told_again(app: Backstay, ada: Browser) -> None:
    await enqueue(app, "send_mail", to="a")
    firing = Firing(
        "high_queue_depth", "warning", "consider_scaling_workers", "1 jobs could run and wait", 1.0, 0.0
    )
    await app._enqueuer.stores.service.alerts.update([(uuid4(), firing)], [])

    shown = await ada.open("/alerts")
    silent = await ada.send("/alerts/mute", rule="high_queue_depth", length="1h", reason="")
    muted = await ada.send("/alerts/mute", rule="high_queue_depth", length="1h", reason="a known peak")
    [mute] = await app.alerts.mutes()
    unmuted = await ada.send("/alerts/unmute", rule="high_queue_depth")
    await app.alerts.check()
    later = await ada.open("/alerts")

    assert "1 rule firing" in shown.text
    assert "1 jobs could run and wait; fires above 0" in shown.text
    assert "Say why" in silent.text
    assert "a known peak" in muted.text
    assert (mute.muted_by, mute.reason) == ("ada", "a known peak")
    assert "high_queue_depth notifies people again" in unmuted.text
    assert "all quiet" in later.text


async def test_makes_a_key_whose_text_is_shown_once(app: Backstay, ada: Browser) -> None:
    await ada.open("/system")

    nameless = await ada.send("/keys", name="", role="viewer")
    made = await ada.send("/keys", name="web shop", role="operator", tenant="red", expires="90d")
    text = re.search(r"[a-z]+_[0-9A-Za-z]{8}_[0-9A-Za-z]{40}", made.html)
    [key] = await app.api_keys.all()
    listed = await ada.open("/system")

    assert "Give the key a name" in nameless.text
    assert text is not None
    assert (await app.api_keys.recognise(text[0])) is not None
    assert (key.name, key.role, key.tenant, key.created_by) == ("web shop", "operator", "red", "ada")
    assert (made.status, made.headers["cache-control"]) == (201, "no-store")
    assert "web shop" in listed.text
    assert text[0] not in listed.html


async def test_rotates_and_revokes_a_key(app: Backstay, ada: Browser) -> None:
    old = await app.api_keys.create("web shop")
    page = await ada.open(f"/keys/{old.key.prefix}")

    rotated = await ada.send("/keys/rotate", prefix=old.key.prefix, overlap="1h")
    revoked = await ada.send("/keys/revoke", prefix=old.key.prefix, reason="it leaked")
    unknown = await ada.send("/keys/rotate", prefix="AAAAAAAA", overlap="1h")

    keys = {key.prefix: key for key in await app.api_keys.all()}
    assert {"/keys/rotate", "/keys/revoke"} <= page.actions
    assert old.text not in page.html
    assert "Copy the key now" in rotated.text
    assert f"The key {old.key.prefix} opens nothing any more" in revoked.text
    assert keys[old.key.prefix].revoked_by == "ada"
    assert [key.is_valid for key in keys.values()].count(True) == 1
    assert "AAAAAAAA" in unknown.text


async def test_only_those_who_administer_see_keys_and_hand_them_out(app: Backstay) -> None:
    await app.api_keys.create("web shop")

    for person in (VIEWER, OPERATOR):
        browser = browser_of(app, person)
        page = await browser.open("/system")
        refused = await browser.send("/keys", name="mine", role="viewer")
        assert "web shop" not in page.text
        assert refused.status in (200, 403)
    assert len(await app.api_keys.all()) == 1


async def test_verifies_the_trail_by_a_button(app: Backstay, ada: Browser) -> None:
    job = await enqueue(app, "send_mail", to="a")
    await app.jobs.cancel(job, by="ann", reason="enough")
    await ada.open("/audit")

    before = await ada.send("/audit/verify")
    await app.audit_chain.extend()
    after = await ada.send("/audit/verify")
    stranger = await browser_of(app, OF_RED).open("/audit")

    assert "No chain has the newest 1 line yet" in before.text
    assert "hold: no line was changed, removed or moved" in after.text
    assert "/audit/verify" not in stranger.actions


async def test_tells_a_worker_to_drain_and_to_leave(app: Backstay, ada: Browser) -> None:
    await app._enqueuer.stores.workers.register(new_worker("lathe 1"))
    home = path_of("workers", "lathe 1")
    await ada.open(home)

    silent = await ada.send(f"{home}/drain", reason="")
    drained = await ada.send(f"{home}/drain", reason="a new kernel")
    resumed = await ada.send(f"{home}/resume")
    stopped = await ada.send(f"{home}/stop", reason="a new kernel")
    nobody = await ada.send("/workers/nobody/stop", reason="a new kernel")

    [worker] = await app.workers.all()
    assert "Say why" in silent.text
    assert "draining" in drained.text
    assert "told to claim again" in resumed.text
    assert "told to leave" in stopped.text
    assert (worker.told, worker.told_by) == ("stop", "ada")
    assert nobody.status == 404
