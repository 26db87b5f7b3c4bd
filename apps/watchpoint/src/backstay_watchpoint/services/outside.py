"""What the services need of the outside world; `outside/` speaks the real protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from backstay_watchpoint.domain.layouts import Found, SourceId
from backstay_watchpoint.domain.payloads import InferencePayload
from backstay_watchpoint.domain.reconcile import ProviderState
from backstay_watchpoint.domain.subscriptions import BillingState


class OutsideError(Exception):
    """An outside part refused or did not answer."""


class ProviderError(OutsideError):
    """The inference provider refused or did not answer."""


class StorageError(OutsideError):
    """The object store refused or did not answer."""


class PaymentsError(OutsideError):
    """The payment provider refused or did not answer."""


class UnknownPlan(PaymentsError):
    """The payment provider has a plan that is none of ours; nobody's plan is changed because of it."""

    def __init__(self, plan_id: str) -> None:
        super().__init__(f"the plan {plan_id!r} is none of ours: STRIPE_PLANS must say which one it means")
        self.plan_id = plan_id


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object's key and size."""

    key: str
    size: int


@dataclass(frozen=True, slots=True)
class MirrorFailure:
    """A mirror that could not be used, and why."""

    mirror: str
    error: str


@dataclass(frozen=True, slots=True)
class MirrorAnswer:
    """What the first working mirror has, which one that was, and which ones failed before it."""

    mirror: str
    bucket: str
    found: tuple[Found, ...]
    failures: tuple[MirrorFailure, ...]


class AllMirrorsFailed(OutsideError):
    """No mirror of a source could be used."""

    def __init__(self, source: SourceId, failures: Sequence[MirrorFailure]) -> None:
        told = "; ".join(f"{failure.mirror}: {failure.error}" for failure in failures)
        super().__init__(f"all mirrors of {source} failed: {told}")
        self.source, self.failures = source, tuple(failures)


class Upstream(Protocol):
    """The mirrors of NOAA's buckets."""

    async def check_availability(self, source: SourceId, since: datetime, until: datetime) -> MirrorAnswer:
        """List what a source has after `since`, up to `until`; raises AllMirrorsFailed."""


class Provider(Protocol):
    """The inference provider."""

    async def trigger(self, payload: InferencePayload) -> str:
        """Start a job and return its id; raises ProviderError."""

    async def status(self, external_id: str) -> ProviderState:
        """Ask what became of a job; an unreachable provider and an unknown id are answers, too."""

    async def cancel(self, external_id: str) -> None:
        """Stop a job; raises ProviderError."""


class Objects(Protocol):
    """Buckets of the platform's own."""

    async def exists(self, bucket: str, key: str) -> bool:
        """Tell whether an object is there; raises StorageError."""

    def listing(self, bucket: str, prefix: str) -> AsyncIterator[StoredObject]:
        """List the objects with a prefix; raises StorageError."""

    async def delete_many(self, bucket: str, keys: Sequence[str]) -> list[str]:
        """Delete at most 1,000 objects and return the keys that could not be; raises StorageError."""

    async def put_cold(self, bucket: str, key: str, body: bytes) -> None:
        """Store an object in the cold tier; raises StorageError."""

    async def get_cold(self, bucket: str, key: str) -> bytes:
        """Bring an object back from the cold tier and read it; raises StorageError."""


class Payments(Protocol):
    """The payment provider."""

    async def subscription(self, customer_id: str, subscription_id: str | None) -> BillingState | None:
        """Return a customer's subscription, None if it has none; raises PaymentsError, UnknownPlan among them."""

    async def ensure_customer(self, organization_id: str, name: str, email: str, idempotency_key: str) -> str:
        """Return the organisation's customer id, which is created if there is none; raises PaymentsError."""
