"""`backstay signal`, `quotas`, and pauses of tenants, as people use them."""

from __future__ import annotations

from test_command_line import Shop
from test_command_line import shop as shop  # the fixture

from backstay.options import JobOptions


def stored(shop: Shop, **options: str) -> str:
    given = JobOptions(**options)  # type: ignore[arg-type]  # all options used here are texts
    handle = shop.app.sync.jobs.enqueue_by_name("add", {"a": 1}, given)
    return str(handle.id)


def test_a_signal_lets_a_job_go_on_and_is_shown_with_it(shop: Shop) -> None:
    job_id = stored(shop, wait_for="approval")
    before = shop.json("job", job_id)["why"]

    first = shop.json("signal", job_id, "approval", "--payload", '{"by": "ann"}', "--key", "k", "--by", "ann")
    again = shop.json("signal", job_id, "approval", "--key", "k")

    assert "waits for the signal 'approval'" in before[0]
    assert (first["is_new"], again["is_new"]) == (True, False)
    assert shop.state(job_id) == "available"
    received = shop.json("job", job_id)["signals"]
    assert [(one["name"], one["payload"], one["sent_by"]) for one in received] == [
        ("approval", {"by": "ann"}, "ann")
    ]
    assert "Signals received" in shop.ok("job", job_id, "--app", "shop:app")


def test_a_signal_that_cannot_be_is_refused(shop: Shop) -> None:
    job_id = stored(shop)
    shop.app.sync.jobs.cancel(job_id, reason="not needed")

    assert "check the id" in shop.refused("signal", job_id, "approval", "--app", "shop:app")
    assert "--payload" in shop.refused("signal", job_id, "approval", "--payload", "{", "--app", "shop:app")


def test_a_tenant_is_paused_for_a_while_and_resumed(shop: Shop) -> None:
    job_id = stored(shop, tenant="acme")

    shop.ok(
        "pause", "--tenant", "acme", "--reason", "moving", "--for", "2h", "--by", "ann", "--app", "shop:app"
    )
    paused = shop.json("queues")["paused_tenants"]
    held = shop.state(job_id)
    told = shop.json("job", job_id)["why"]
    resumed = shop.json("resume", "--tenant", "acme")

    assert [(one["tenant"], one["paused_by"], one["ends_at"] is not None) for one in paused] == [
        ("acme", "ann", True)
    ]
    assert (held, shop.state(job_id)) == ("held", "available")
    assert "resume --tenant acme" in told[0]
    assert resumed["was_paused"] is True


def test_a_quota_is_set_shown_and_removed(shop: Shop) -> None:
    stored(shop, tenant="acme")
    shop.ok("quotas", "set", "1", "--tenant", "acme", "--reason", "the plan", "--app", "shop:app")

    shown = shop.json("quotas")["quotas"]
    refused = shop.refused("enqueue", "add", "a=1", "--tenant", "acme", "--app", "shop:app")
    removed = shop.json("quotas", "remove", "--tenant", "acme")

    assert [(one["tenant"], one["queue"], one["most"], one["reason"]) for one in shown] == [
        ("acme", None, 1, "the plan")
    ]
    assert "may have 1 jobs waiting" in refused
    assert removed["was_set"] is True
    stored(shop, tenant="acme")
