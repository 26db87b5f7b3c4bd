"""The clocks of outgoing requests: the only place that reads them."""

from __future__ import annotations

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Return seconds of a clock that nobody sets."""
    return time.monotonic()
