"""The payment provider by Stripe's interface."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from backstay_watchpoint.domain.plans import PLANS
from backstay_watchpoint.domain.subscriptions import BillingState
from backstay_watchpoint.services.outside import PaymentsError, UnknownPlan

ORGANIZATION_KEY = "organization_id"
_PAGE = 100


class StripePayments:
    """Customers and subscriptions by Stripe's own client, whose blocking calls run in threads.

    The library is imported when it is first needed: it takes more than half a second, and one task uses it.
    """

    def __init__(
        self,
        api_key: str,
        *,
        plans: Mapping[str, str] | None = None,
        base_url: str | None = None,
        timeout: float = 10.0,
    ) -> None:
        """`plans` names ours for the provider's ids; one that has the name of ours needs no entry."""
        self._api_key, self._base_url, self._timeout = api_key, base_url, timeout
        self._plans = {name: name for name in PLANS} | dict(plans or {})

    @cached_property
    def _client(self) -> Any:
        import stripe

        addresses: Any = {} if self._base_url is None else {"base_addresses": {"api": self._base_url}}
        http_client = stripe.RequestsClient(timeout=self._timeout)
        return stripe.StripeClient(self._api_key, http_client=http_client, max_network_retries=0, **addresses)

    async def subscription(self, customer_id: str, subscription_id: str | None) -> BillingState | None:
        """Return a customer's subscription, None if it has none; raises PaymentsError."""
        found: BillingState | None = await self._in_thread(
            self._find_subscription, customer_id, subscription_id
        )
        return found

    async def ensure_customer(self, organization_id: str, name: str, email: str, idempotency_key: str) -> str:
        """Return the organisation's customer id, which is created if there is none; raises PaymentsError."""
        found: str = await self._in_thread(
            self._find_or_create, organization_id, name, email, idempotency_key
        )
        return found

    async def _in_thread(self, function: Any, *given: Any) -> Any:
        return await asyncio.to_thread(_translated, function, *given)

    def _find_subscription(self, customer_id: str, subscription_id: str | None) -> BillingState | None:
        import stripe

        if subscription_id is not None:
            try:
                return self._state(self._client.v1.subscriptions.retrieve(subscription_id))
            except stripe.InvalidRequestError as error:
                if error.http_status != 404:
                    raise
                return None
        listed: Any = self._client.v1.subscriptions.list({"customer": customer_id, "limit": 1})
        return self._state(listed.data[0]) if listed.data else None

    def _state(self, subscription: Any) -> BillingState | None:
        status = str(subscription["status"])
        if status in ("canceled", "incomplete_expired"):
            return None
        item = subscription.to_dict()["items"]["data"][0]
        found = str((item.get("plan") or item["price"])["id"])
        plan = self._plans.get(found)
        if plan is None:
            raise UnknownPlan(found)
        return BillingState(plan, status)

    def _find_or_create(self, organization_id: str, name: str, email: str, idempotency_key: str) -> str:
        # Looked for first: the key alone protects for a day only.
        listed = self._client.v1.customers.list({"email": email, "limit": _PAGE})
        for customer in listed.data:
            # The client's objects are no mappings any more: `.get` would look for a field of that name.
            metadata = customer.metadata.to_dict() if customer.metadata else {}
            if metadata.get(ORGANIZATION_KEY) == organization_id:
                return str(customer.id)
        created = self._client.v1.customers.create(
            {"name": name, "email": email, "metadata": {ORGANIZATION_KEY: organization_id}},
            {"idempotency_key": idempotency_key},
        )
        return str(created.id)


def _translated(function: Any, *given: Any) -> Any:
    import stripe

    try:
        return function(*given)
    except stripe.StripeError as error:
        status = error.http_status or "no answer"
        raise PaymentsError(f"{type(error).__name__} ({status})") from error
