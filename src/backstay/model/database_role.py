"""As whom a handler's transaction speaks to PostgreSQL, so that its row security holds there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backstay.errors import InvalidSettings

CLAIMS = "request.jwt.claims"
"""The setting under which row security finds whom the work is done for, as with PostgREST and Supabase."""

_LONGEST_NAME = 63


@dataclass(frozen=True, slots=True)
class DatabaseRole:
    """A role of the database, and what its policies are to know of the one the work is done for."""

    role: str | None = None
    claims: str | None = None
    """JSON text."""

    @classmethod
    def of(cls, role: str | None, claims: Mapping[str, Any] | None) -> DatabaseRole | None:
        """What `ctx.transaction(role=…, claims=…)` was given, None for nothing; raises InvalidSettings."""
        if role is None and claims is None:
            return None
        if role is not None and (not role or "\0" in role or len(role.encode()) > _LONGEST_NAME):
            raise InvalidSettings(f"role cannot be {role!r}: name a role of the database")
        try:
            text = None if claims is None else json.dumps(dict(claims), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InvalidSettings(f"claims must be plain JSON: {error}") from error
        return cls(role, text)

    @property
    def taken(self) -> str:
        """The statement that takes the role on, until the transaction ends."""
        settings = [("role", self.role), (CLAIMS, self.claims)]
        calls = [_set(name, value) for name, value in settings if value is not None]
        return f"SELECT {', '.join(calls)}"

    @property
    def laid_down(self) -> str:
        """The statement that makes the connection its owner's again; the claims may stay."""
        return "SELECT set_config('role', 'none', true)"


def _set(name: str, value: str) -> str:
    # In hexadecimal, because every driver has its own idea of what a quote, a colon or a percent sign means.
    return f"set_config('{name}', convert_from(decode('{value.encode().hex()}', 'hex'), 'UTF8'), true)"
