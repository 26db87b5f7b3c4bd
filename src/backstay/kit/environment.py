"""The clock and chance of the web kit: the only place that reads them, so that a test can hold them still."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]
"""Gives the current time, with a zone."""


def utc_now() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(UTC)


def monotonic() -> float:
    """Return seconds of a clock that nobody sets."""
    return time.monotonic()


def random_text(size: int = 24) -> str:
    """Return `size` random bytes as URL-safe text."""
    return secrets.token_urlsafe(size)


def random_bytes(size: int) -> bytes:
    """Return `size` random bytes."""
    return secrets.token_bytes(size)
