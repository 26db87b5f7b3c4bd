"""The sums that must hold at the end of the day, reckoned without the rules that made it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from backstay_parts.demo import Demo
from backstay_watchpoint.demo import seed
from backstay_watchpoint.demo.looks import Looks
from backstay_watchpoint.domain.forecasts import RunStatus
from backstay_watchpoint.store.tables import (
    alerts,
    billing_drifts,
    forecast_runs,
    notification_deliveries,
    organizations,
    usage_history,
    watchpoints,
)

QUARTER = timedelta(minutes=15)


async def check_day(demo: Demo, looks: Looks, items: Mapping[str, int], expected: Mapping[str, int]) -> None:
    """Check what the day's tasks left behind; `expected` is what was prepared for them."""
    live = organizations.c.deleted_at.is_(None)
    headless = organizations.c.stripe_customer_id.is_(None) & live
    deferred = notification_deliveries.c.status == "deferred"
    archived = await looks.count(watchpoints, watchpoints.c.status == "archived")
    demo.check(
        "calls closed into the history", expected["calls"], await looks.total(usage_history.c.api_calls)
    )
    demo.check("digests asked for", expected["digests"], items["trigger_digests"])
    demo.check("watchpoints archived", items["archive_watchpoints"], archived)
    demo.check("deferred deliveries left", 0, await looks.count(notification_deliveries, deferred))
    demo.check("drift corrected", expected["drifting"], await looks.count(billing_drifts))
    demo.check("organisations without a customer", 0, await looks.count(organizations, headless))
    demo.check("canary alerts", ["CanaryFalseTrigger"], await looks.values(alerts.c.name))
    demo.check("expired invites deleted", seed.INVITES, items["cleanup_soft_deletes"])
    demo.check("expired keys deleted", seed.KEYS, items["cleanup_idempotency_keys"])
    demo.check("old security events deleted", seed.EVENTS, items["cleanup_security_events"])


async def check_forecasts(
    demo: Demo, looks: Looks, items: Mapping[str, int], expected: Mapping[str, int]
) -> None:
    """Check what became of the day's forecasts, of those that hung and failed, and of old ones."""
    reasons = await looks.values(forecast_runs.c.failure_reason, forecast_runs.c.status == RunStatus.FAILED)
    running = await looks.count(forecast_runs, forecast_runs.c.status == RunStatus.RUNNING)
    given_up = any("3 submissions" in why for why in reasons)
    demo.check("forecasts running at the end", 0, running)
    demo.check("forecasts that failed", 2, len(reasons))
    demo.check("one was stopped after 20 minutes", True, "Timeout" in reasons)
    demo.check("one was given up after three submissions", True, given_up)
    demo.check("old forecasts deleted", expected["old"], items["transition_forecasts"])
    demo.check("verifications asked for", expected["to_verify"], items["verification"])


def digests_of(day: datetime, organizations: int) -> int:
    """Count the digests of a day by looking at every organisation's clock each quarter of an hour.

    A digest is due when the wall clock shows its time, once a local day, up to the last hourly tick of the day.
    """
    ticks = [day + QUARTER * number for number in range(23 * 4 + 1)]
    due = 0
    for number in range(organizations):
        zone = ZoneInfo(seed.ZONES[number % len(seed.ZONES)])
        weekday, _, clock = seed.TIMES[number % len(seed.TIMES)].rpartition(" ")
        shown = [at.astimezone(zone) for at in ticks]
        days = {
            at.date()
            for at in shown
            if f"{at:%H:%M}" == clock and (not weekday or f"{at:%a}".lower() == weekday)
        }
        due += bool(days)
    return due
