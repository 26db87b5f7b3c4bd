"""The demonstration's payment provider: plans, customers and subscriptions, some of which differ from ours."""

from __future__ import annotations

from typing import Any

import stripe
from sqlalchemy import update

from backstay_watchpoint.demo.seed import name_of
from backstay_watchpoint.outside.payments import ORGANIZATION_KEY
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.tables import organizations

PLANS = ("free", "pro", "business")


def make_customers(api_key: str, url: str, number: int, drifting: int) -> list[dict[str, Any]]:
    """Create customers with subscriptions; the first `drifting` have another plan than we think."""
    client = stripe.StripeClient(api_key, base_addresses={"api": url})
    for plan in PLANS:
        client.v1.plans.create(
            {
                "id": plan,
                "amount": 0,
                "currency": "usd",
                "interval": "month",
                "product": {"name": plan},
            }
        )
    made = []
    for index in range(number):
        organization_id = name_of("org", index)
        customer = client.v1.customers.create(
            {"email": f"org{index:03d}@example.org", "metadata": {ORGANIZATION_KEY: organization_id}}
        )
        plan = "business" if index < drifting else "pro"
        subscription = client.v1.subscriptions.create({"customer": customer.id, "items": [{"plan": plan}]})
        made.append({"id": organization_id, "customer": customer.id, "subscription": subscription.id})
    return made


async def store_customers(database: Database, made: list[dict[str, Any]], headless: int) -> None:
    """Let our side know the customers; the last `headless` organisations lose theirs."""
    async with database.transaction() as transaction:
        for found in made:
            await transaction.execute(
                update(organizations)
                .where(organizations.c.id == found["id"])
                .values(
                    stripe_customer_id=found["customer"],
                    stripe_subscription_id=found["subscription"],
                    last_billing_sync_at=None,
                )
            )
        for found in made[len(made) - headless :]:
            await transaction.execute(
                update(organizations)
                .where(organizations.c.id == found["id"])
                .values(stripe_customer_id=None, stripe_subscription_id=None)
            )
