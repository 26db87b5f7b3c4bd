"""API keys as values: what is kept of them, and what is known once."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

ROLES = ("viewer", "operator", "admin")
"""What a key may do, from least to most."""

_FORM = re.compile(r"[a-z][a-z0-9]{1,15}_([0-9A-Za-z]{8})_[0-9A-Za-z]{40}")


def prefix_of(text: str) -> str | None:
    """The prefix of what looks like a key; None for anything else."""
    form = _FORM.fullmatch(text)
    return form.group(1) if form else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    """An API key as it is kept: its text is not among it. The tenant `"*"` stands for all tenants."""

    prefix: str
    name: str
    tenant: str
    role: str
    scopes: tuple[str, ...] | None
    """If given, it may do no more than these rights of its role."""
    sees_payloads: bool
    created_at: datetime
    created_by: str
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str | None
    replaced_by: str | None
    """The prefix of the key that takes over from it."""
    is_valid: bool
    """Whether it lets anybody in now."""


@dataclass(frozen=True, slots=True)
class CreatedApiKey:
    """A new key at the only moment when its text is known."""

    key: ApiKey
    text: str

    def __repr__(self) -> str:
        return f"CreatedApiKey({self.key.prefix!r})"


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request that was sent with an idempotency key; without a status it is not answered yet."""

    fingerprint: str
    status: int | None
    content_type: str
    body: str
