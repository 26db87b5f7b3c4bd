"""API keys: made, rotated and revoked by people, and recognised by the HTTP service."""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from backstay.client.arguments import who, why
from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings, NotFound
from backstay.handlers import codec
from backstay.model.api_keys import ROLES, ApiKey, CreatedApiKey, prefix_of
from backstay.model.rights import EVERYTHING
from backstay.model.text.durations import Duration, duration

if TYPE_CHECKING:
    from backstay.kit.api_keys import NewApiKey

MOST_LISTED = 1000
MOST_SCOPES = 100
_SCOPE = re.compile(r"\*|[a-z_]{1,40}\.(\*|[a-z_]{1,40})")


@dataclass(frozen=True)
class ApiKeys:
    """The API keys of one application, from one event loop."""

    _enqueuer: Enqueuer

    async def create(
        self,
        name: str,
        *,
        role: str = "viewer",
        tenant: str = "",
        scopes: Iterable[str] | None = None,
        sees_payloads: bool = False,
        expires: Duration | datetime | None = None,
        by: str = "client",
    ) -> CreatedApiKey:
        """Make a key; its text is known now and never again.

        `scopes` narrow its role to some rights, as in `["jobs.read", "jobs.enqueue"]`. The tenant `"*"` stands for all
        tenants. `expires` is a moment or a length of time.
        """
        new = _new_key()
        moment = expires if isinstance(expires, datetime) else None
        length = None if expires is None or moment else duration(expires, field="expires")
        await self._enqueuer.stores.service.api_keys.add(
            new.prefix,
            new.digest,
            name=codec.check_key("name", name),
            tenant=_tenant(tenant),
            role=_role(role),
            scopes=_scopes(scopes),
            sees_payloads=sees_payloads,
            expires_at=_aware(moment),
            expires_in=length,
            actor=who(by),
        )
        return CreatedApiKey(await self.get(new.prefix), new.text)

    async def get(self, prefix: str) -> ApiKey:
        """The key with this prefix; raises NotFound."""
        found = await self._enqueuer.stores.service.api_keys.find(prefix)
        if found is None:
            raise NotFound("API key", prefix)
        return found[0]

    async def all(self, *, tenant: str | None = None, limit: int = 200) -> list[ApiKey]:
        """Keys, newest first, also those that are no longer valid."""
        most = min(max(limit, 1), MOST_LISTED)
        return await self._enqueuer.stores.service.api_keys.all(tenant=tenant, limit=most)

    async def rotate(self, prefix: str, *, overlap: Duration = 0, by: str = "client") -> CreatedApiKey:
        """Make a key that takes over from another: the same name, role and scopes. Both are valid for `overlap`."""
        old, length = await self.get(prefix), duration(overlap, field="overlap")
        if not old.is_valid:
            raise InvalidSettings(f"the key {prefix} is expired or revoked: make a new one instead")
        left = None if old.expires_at is None else old.expires_at - old.created_at
        made = await self.create(
            old.name,
            role=old.role,
            tenant=old.tenant,
            scopes=old.scopes,
            sees_payloads=old.sees_payloads,
            expires=left,
            by=by,
        )
        await self._enqueuer.stores.service.api_keys.replace(
            prefix, replaced_by=made.key.prefix, overlap=length, actor=who(by)
        )
        return made

    async def revoke(self, prefix: str, *, reason: str, by: str = "client") -> bool:
        """Let a key open nothing any more, from its next request on; False when there is none that does."""
        return await self._enqueuer.stores.service.api_keys.revoke(
            prefix, tenant=None, actor=who(by), reason=why(reason)
        )

    async def recognise(self, text: str) -> ApiKey | None:
        """Whose key this is; None if it is unknown, expired or revoked."""
        prefix = prefix_of(text)
        found = await self._enqueuer.stores.service.api_keys.find(prefix) if prefix else None
        # Compared in any case, so that an unknown prefix takes as long as a wrong secret.
        fits = hmac.compare_digest(_digest(text), found[1] if found else "0" * 64)
        if found is None or not fits or not found[0].is_valid:
            return None
        await self._enqueuer.stores.service.api_keys.used(found[0].prefix)
        return found[0]


def _new_key() -> NewApiKey:
    try:
        from backstay.kit.api_keys import new_api_key
    except ModuleNotFoundError as error:
        raise InvalidSettings(
            f"API keys need the HTTP extra ({error.name} is missing): pip install 'backstay[http]'"
        ) from error
    return new_api_key()


def _digest(text: str) -> str:
    from backstay.kit.api_keys import digest_of

    return digest_of(text)


def _role(role: str) -> str:
    if role not in ROLES:
        raise InvalidSettings(f"the role cannot be {role!r}: it is one of {', '.join(ROLES)}")
    return role


def _tenant(tenant: str) -> str:
    return tenant if tenant in ("", EVERYTHING) else codec.check_key("tenant", tenant)


def _scopes(scopes: Iterable[str] | None) -> tuple[str, ...] | None:
    if scopes is None:
        return None
    given = tuple(dict.fromkeys(scopes))
    wrong = [scope for scope in given if not _SCOPE.fullmatch(scope)]
    if wrong or len(given) > MOST_SCOPES:
        shown = wrong[0][:80] if wrong else f"{len(given)} of them"
        raise InvalidSettings(
            f"scopes cannot be {shown!r}: write rights such as jobs.read or jobs.*, at most {MOST_SCOPES}"
        )
    return given


def _aware(moment: datetime | None) -> datetime | None:
    if moment is not None and moment.tzinfo is None:
        raise InvalidSettings("expires has no time zone: write datetime(…, tzinfo=UTC)")
    return moment
