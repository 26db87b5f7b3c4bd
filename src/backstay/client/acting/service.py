"""API keys and health, for somebody who acts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from backstay.client.acting.scope import Scope
from backstay.errors import Forbidden, NotFound
from backstay.model.api_keys import ApiKey, CreatedApiKey
from backstay.model.health import HealthReport
from backstay.model.rights import PAYLOADS, RIGHTS, covers, narrowed
from backstay.model.text.durations import Duration


@dataclass(frozen=True, slots=True)
class ActingApiKeys:
    """The API keys of the tenant; nobody makes a key that may do more than they may themselves."""

    scope: Scope

    async def create(
        self,
        name: str,
        *,
        role: str = "viewer",
        tenant: str | None = None,
        scopes: Iterable[str] | None = None,
        sees_payloads: bool = False,
        expires: Duration | datetime | None = None,
    ) -> CreatedApiKey:
        """Make a key for the tenant; its text is known now and never again."""
        self.scope.need("api_keys.create")
        given = None if scopes is None else tuple(scopes)
        self._need_all(role, given, sees_payloads=sees_payloads)
        return await self.scope.app.api_keys.create(
            name,
            role=role,
            tenant=self._tenant(tenant),
            scopes=given,
            sees_payloads=sees_payloads,
            expires=expires,
            by=self.scope.actor,
        )

    async def all(self, *, limit: int = 200) -> list[ApiKey]:
        """Keys, newest first."""
        self.scope.need("api_keys.read")
        return await self.scope.app.api_keys.all(tenant=self.scope.only_tenant, limit=limit)

    async def get(self, prefix: str) -> ApiKey:
        """One key; raises NotFound."""
        return await self._own(prefix, "api_keys.read")

    async def rotate(self, prefix: str, *, overlap: Duration = 0) -> CreatedApiKey:
        """Make a key that takes over from another."""
        old = await self._own(prefix, "api_keys.rotate")
        self._need_all(old.role, old.scopes, sees_payloads=old.sees_payloads)
        return await self.scope.app.api_keys.rotate(prefix, overlap=overlap, by=self.scope.actor)

    async def revoke(self, prefix: str, *, reason: str) -> bool:
        """Let a key open nothing any more."""
        await self._own(prefix, "api_keys.revoke")
        return await self.scope.app.api_keys.revoke(prefix, reason=reason, by=self.scope.actor)

    def _need_all(self, role: str, scopes: tuple[str, ...] | None, *, sees_payloads: bool) -> None:
        """Raise Forbidden unless the actor has every right that such a key would have."""
        granted = RIGHTS.get(role, frozenset())
        handed_on = granted if scopes is None else narrowed(granted, scopes)
        for right in sorted({*handed_on, *([PAYLOADS] if sees_payloads else [])}):
            if not covers(self.scope.rights, right):
                raise Forbidden(self.scope.actor, right, why="to hand it on")

    def _tenant(self, asked: str | None) -> str:
        """The tenant of a new key: the actor's own, or any for those who act for all."""
        if self.scope.only_tenant is None:
            return asked if asked is not None else ""
        if asked not in (None, self.scope.tenant):
            raise Forbidden(self.scope.actor, "api_keys.create", why="for another tenant")
        return self.scope.tenant

    async def _own(self, prefix: str, right: str) -> ApiKey:
        self.scope.need(right)
        key = await self.scope.app.api_keys.get(prefix)
        if not self.scope.sees(key.tenant):
            raise NotFound("API key", prefix)
        return key


@dataclass(frozen=True, slots=True)
class ActingHealth:
    """The health of the whole, which concerns everybody."""

    scope: Scope

    async def check(self) -> HealthReport:
        """Judge stale jobs, open dead letters and the failures of the last hour."""
        self.scope.need_all_tenants("metrics.read")
        return await self.scope.app.health.check()
