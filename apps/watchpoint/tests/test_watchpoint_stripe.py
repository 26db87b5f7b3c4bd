"""The comparison with Stripe, by Stripe's client against a server that keeps state."""

from __future__ import annotations

import uuid
from datetime import timedelta
from typing import Any

import pytest
import stripe
from watchpoint_rows import again, one, organization, rows

from backstay_parts.faults import Answer, Fault, FaultProxy
from backstay_parts.servers import LocalStripe
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.payments import StripePayments
from backstay_watchpoint.services.billing import sync_at_risk, sync_everybody
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.settings import BadSetting, Settings
from backstay_watchpoint.store import tables


@pytest.fixture(scope="session")
def stripe_client(stripe_server: LocalStripe) -> Any:
    client = stripe.StripeClient(stripe_server.api_key, base_addresses={"api": stripe_server.url})
    for plan in ("free", "pro", "business"):
        client.v1.plans.create(
            {"id": plan, "amount": 0, "currency": "usd", "interval": "month", "product": {"name": plan}}
        )
    return client


async def subscriber(jobs: Jobs, client: Any, plan: str = "pro", **values: Any) -> str:
    """An organisation with a customer and a subscription on both sides."""
    name = f"org-{uuid.uuid4()}"
    customer = client.v1.customers.create({"email": f"{name}@example.org"})
    subscription = client.v1.subscriptions.create({"customer": customer.id, "items": [{"plan": plan}]})
    given = {"stripe_customer_id": customer.id, "stripe_subscription_id": subscription.id, **values}
    return await organization(jobs.platform.database, id=name, **given)


async def sync(jobs: Jobs, work: Work, **given: Any) -> int:
    return await sync_at_risk(work, jobs.platform.payments, **given)


async def test_drift_is_corrected_and_counted(
    connected: Jobs, connected_work: Work, stripe_client: Any
) -> None:
    """WPT-042: the server's plan was changed; ours follows, the metric rises by one; equal ones are only stamped."""
    database, now = connected.platform.database, connected_work.now
    equal = await subscriber(connected, stripe_client)
    drifted = await subscriber(connected, stripe_client, "business")

    assert await sync(connected, connected_work) == 2

    row = await one(database, tables.organizations, id=drifted)
    assert (row["plan"], row["subscription_status"], row["last_billing_sync_at"]) == (
        "business",
        "active",
        now,
    )
    [found] = await rows(database, tables.billing_drifts)
    assert (found["organization_id"], found["ours"], found["theirs"]) == (
        drifted,
        "pro/active",
        "business/active",
    )
    assert [warning for warning in connected_work.warnings if "BillingStateDrift" in warning]
    assert (await one(database, tables.organizations, id=equal))["last_billing_sync_at"] == now
    assert await sync(connected, again(connected_work)) == 0


async def test_a_cancelled_or_missing_subscription_is_the_free_plan(
    connected: Jobs, connected_work: Work, stripe_client: Any
) -> None:
    """WPT-044: cancelled at the server, and an id that it does not know."""
    database = connected.platform.database
    cancelled = await subscriber(connected, stripe_client)
    stripe_client.v1.subscriptions.cancel(
        (await one(database, tables.organizations))["stripe_subscription_id"]
    )
    unknown = await subscriber(connected, stripe_client, stripe_subscription_id="sub_unknown")
    without = await subscriber(connected, stripe_client, stripe_subscription_id=None)

    await sync(connected, connected_work)

    plans = {
        row["id"]: (row["plan"], row["subscription_status"])
        for row in await rows(database, tables.organizations)
    }
    assert plans[cancelled] == plans[unknown] == ("free", "canceled")
    assert plans[without] == ("pro", "active")  # found by its customer


async def test_an_error_of_one_does_not_stop_the_others(
    connected: Jobs, connected_work: Work, stripe_client: Any, stripe_server: LocalStripe
) -> None:
    """WPT-042, WPT-055: logged, the next one goes on, and its time stays as it was."""
    database, now = connected.platform.database, connected_work.now
    first = await subscriber(connected, stripe_client, last_billing_sync_at=now - timedelta(days=3))
    second = await subscriber(connected, stripe_client, last_billing_sync_at=now - timedelta(days=2))
    with FaultProxy.before(stripe_server.url) as proxy:
        proxy.next_faults(
            [Answer(500, b'{"error": {"message": "no"}}', (("Content-Type", "application/json"),))]
        )
        payments = StripePayments(stripe_server.api_key, base_url=proxy.url)

        assert await sync_at_risk(connected_work, payments) == 1

    stamps = {row["id"]: row["last_billing_sync_at"] for row in await rows(database, tables.organizations)}
    assert stamps == {first: now - timedelta(days=3), second: now}
    assert f"organization_id {first}" in connected_work.warnings[0]


async def test_a_daily_run_finds_everybody_every_day(
    connected: Jobs, connected_work: Work, stripe_client: Any
) -> None:
    """WPT-042: eight days in a row, not every second one; just after a comparison nobody is due."""
    await subscriber(connected, stripe_client)

    counts = [await sync(connected, again(connected_work, days=day)) for day in range(8)]

    assert counts == [1] * 8
    assert await sync(connected, again(connected_work, days=7, hours=23)) == 0


async def test_the_longest_waiting_come_first(
    connected: Jobs, connected_work: Work, stripe_client: Any
) -> None:
    """WPT-042: limited; never compared ones first, deleted ones never."""
    database, now = connected.platform.database, connected_work.now
    older = await subscriber(connected, stripe_client, last_billing_sync_at=now - timedelta(days=5))
    newer = await subscriber(connected, stripe_client, last_billing_sync_at=now - timedelta(days=2))
    never = await subscriber(connected, stripe_client)
    await subscriber(connected, stripe_client, deleted_at=now)

    assert await sync(connected, connected_work, limit=2) == 2

    stamped = {row["id"] for row in await rows(database, tables.organizations, last_billing_sync_at=now)}
    assert stamped == {never, older}
    assert newer not in stamped


async def test_the_daily_task_reaches_everybody_batch_by_batch(
    connected: Jobs, connected_work: Work, stripe_client: Any, stripe_server: LocalStripe
) -> None:
    """WPT-042: five organisations in batches of two; one whose comparison fails keeps nobody from theirs."""
    now = connected_work.now
    oldest = await subscriber(connected, stripe_client)
    for days in (5, 4, 3, 2):
        await subscriber(connected, stripe_client, last_billing_sync_at=now - timedelta(days=days))
    with FaultProxy.before(stripe_server.url) as proxy:
        answer = (("Content-Type", "application/json"),)
        proxy.next_faults([Answer(500, b'{"error": {"message": "no"}}', answer)])
        payments = StripePayments(stripe_server.api_key, base_url=proxy.url)

        assert await sync_everybody(connected_work, payments, batch=2) == 4

    [left] = await rows(connected.platform.database, tables.organizations, last_billing_sync_at=None)
    assert left["id"] == oldest


async def test_a_missing_customer_is_created_once_whatever_crashes(
    connected: Jobs, connected_work: Work, stripe_client: Any, stripe_server: LocalStripe
) -> None:
    """WPT-043: the answer is lost after the creation; the next run finds the same customer."""
    database = connected.platform.database
    headless = await organization(database, stripe_customer_id=None)
    suspended = await organization(database, stripe_customer_id=None, status="suspended")
    with FaultProxy.before(stripe_server.url) as proxy:
        payments = StripePayments(stripe_server.api_key, base_url=proxy.url)
        proxy.rule = lambda method, path: Fault.LOSE_ANSWER if method == "POST" else None

        assert await sync_at_risk(connected_work, payments) == 0

    assert (await one(database, tables.organizations, id=headless))["stripe_customer_id"] is None
    assert await sync(connected, again(connected_work)) == 1
    listed = stripe_client.v1.customers.list({"email": f"{headless}@example.org"}).data
    assert [customer.id for customer in listed] == [
        (await one(database, tables.organizations, id=headless))["stripe_customer_id"]
    ]
    assert (await one(database, tables.organizations, id=suspended))["stripe_customer_id"] is None


async def test_plans_of_the_provider_are_those_that_the_settings_name(
    connected: Jobs, connected_work: Work, stripe_client: Any, stripe_server: LocalStripe
) -> None:
    """WPT-042: Stripe's ids are not our names; one that nobody named changes no plan and is told once."""
    database = connected.platform.database
    for plan in ("price_known", "price_strange"):
        if not [found for found in stripe_client.v1.plans.list().data if found.id == plan]:
            details = {"amount": 0, "currency": "usd", "interval": "month", "product": {"name": plan}}
            stripe_client.v1.plans.create({"id": plan, **details})
    known = await subscriber(connected, stripe_client, "price_known")
    strange = [await subscriber(connected, stripe_client, "price_strange") for _ in range(2)]
    payments = StripePayments(
        stripe_server.api_key, plans={"price_known": "business"}, base_url=stripe_server.url
    )

    assert await sync_everybody(connected_work, payments) == 1

    plans = {row["id"]: row["plan"] for row in await rows(database, tables.organizations)}
    assert plans == {known: "business", strange[0]: "pro", strange[1]: "pro"}
    alert = await one(database, tables.alerts)
    assert (alert["name"], alert["subject"]) == ("StripePlanUnknown", "price_strange")
    assert "STRIPE_PLANS must say which one it means" in alert["message"]


def test_stripes_plans_are_read_from_the_environment() -> None:
    """WPT-052: pairs of Stripe's id and our name; a name that is none of ours is refused."""
    given = Settings.from_environment({"STRIPE_PLANS": "price_1=pro, price_2=business"})

    assert given.stripe_plans == {"price_1": "pro", "price_2": "business"}
    with pytest.raises(BadSetting, match="STRIPE_PLANS must be pairs such as price_123=pro"):
        Settings.from_environment({"STRIPE_PLANS": "price_1=platinum"})
