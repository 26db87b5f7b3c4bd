"""From where what happens now was asked for, as the audit trail tells it: an address and a key, a command, a page."""

from __future__ import annotations

from contextvars import ContextVar

_source: ContextVar[str | None] = ContextVar("backstay_source", default=None)


def come_from(source: str) -> None:
    """Say it for the rest of the request or command that is under way."""
    _source.set(source)


def source_now() -> str | None:
    """Where what happens now comes from; None if nobody has said."""
    return _source.get()
