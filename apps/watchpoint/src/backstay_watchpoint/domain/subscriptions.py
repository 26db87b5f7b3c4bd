"""Whether the platform and the payment provider agree about an organisation."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

DRIFT_METRIC = "BillingStateDrift"
STALENESS = timedelta(hours=24)
SYNC_LIMIT = 100


@dataclass(frozen=True, slots=True)
class BillingState:
    """A plan and the status of its subscription."""

    plan: str
    status: str


@dataclass(frozen=True, slots=True)
class Drift:
    """What was stored here, and what the provider says."""

    ours: BillingState
    theirs: BillingState

    @property
    def message(self) -> str:
        """Say what differs."""
        return f"{self.ours.plan}/{self.ours.status} here, {self.theirs.plan}/{self.theirs.status} at Stripe"


NO_SUBSCRIPTION = BillingState("free", "canceled")


def drift(ours: BillingState, theirs: BillingState | None) -> Drift | None:
    """Compare both sides; no subscription at the provider means the free plan, cancelled."""
    actual = theirs or NO_SUBSCRIPTION
    return None if ours == actual else Drift(ours, actual)


def payment_failed_at(theirs: BillingState, since: datetime | None, now: datetime) -> datetime | None:
    """Return since when payment is missing, as the webhook would set it."""
    if theirs.status in ("past_due", "unpaid"):
        return since or now
    return None


def stale_before(now: datetime, staleness: timedelta = STALENESS) -> datetime:
    """Return the newest sync time that is due again.

    Stamped with the reference time and compared inclusively: a daily run finds every organisation every day.
    """
    return now - staleness
