"""API keys and answered requests, once for both databases."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from backstay.model.api_keys import ApiKey, StoredRequest
from backstay.stores import audit, rows
from backstay.stores.database.interface import Lane, Row

ONCE_A_MINUTE = timedelta(minutes=1)
ALL_TENANTS = "*"


@dataclass(frozen=True, slots=True)
class ApiKeyStore:
    """Keeps API keys on one lane."""

    lane: Lane

    async def add(
        self,
        prefix: str,
        digest: str,
        *,
        name: str,
        tenant: str,
        role: str,
        scopes: tuple[str, ...] | None,
        sees_payloads: bool,
        expires_at: datetime | None,
        expires_in: timedelta | None,
        actor: str,
    ) -> bool:
        async with self.lane.transaction() as connection:
            added = await connection.fetch(
                "api_keys/insert",
                prefix=prefix,
                digest=digest,
                name=name,
                tenant=tenant,
                role=role,
                scopes=None if scopes is None else msgspec.json.encode(scopes).decode(),
                sees_payloads=sees_payloads,
                by=actor,
                expires_at=expires_at,
                expires_in=expires_in,
            )
            if added:
                told = {
                    "prefix": prefix,
                    "name": name,
                    "role": role,
                    "scopes": scopes,
                    "payloads": sees_payloads,
                }
                line = audit.Line(tenant=_own(tenant), actor=actor, action="api_key.created", details=told)
                await audit.record(connection, [line])
            return bool(added)

    async def find(self, prefix: str) -> tuple[ApiKey, str] | None:
        found = await self.lane.fetch("api_keys/find", prefix=prefix)
        return (_api_key(found[0]), found[0]["digest"]) if found else None

    async def used(self, prefix: str) -> None:
        await self.lane.fetch("api_keys/used", prefix=prefix, pause=ONCE_A_MINUTE)

    async def all(self, *, tenant: str | None, limit: int) -> list[ApiKey]:
        return [_api_key(row) for row in await self.lane.fetch("api_keys/all", tenant=tenant, limit=limit)]

    async def replace(self, prefix: str, *, replaced_by: str, overlap: timedelta, actor: str) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch(
                "api_keys/replace", prefix=prefix, replaced_by=replaced_by, overlap=overlap
            )
            told = {"prefix": prefix, "replaced_by": replaced_by, "overlap_seconds": overlap.total_seconds()}
            found = await connection.fetch("api_keys/find", prefix=prefix)
            line = audit.Line(
                tenant=_own(found[0]["tenant"]), actor=actor, action="api_key.rotated", details=told
            )
            await audit.record(connection, [line])

    async def revoke(self, prefix: str, *, tenant: str | None, actor: str, reason: str) -> bool:
        async with self.lane.transaction() as connection:
            found = await connection.fetch("api_keys/revoke", prefix=prefix, tenant=tenant, by=actor)
            for row in found:
                line = audit.Line(
                    tenant=_own(row["tenant"]),
                    actor=actor,
                    action="api_key.revoked",
                    reason=reason,
                    details={"prefix": prefix, "name": row["name"]},
                )
                await audit.record(connection, [line])
            return bool(found)


@dataclass(frozen=True, slots=True)
class ApiRequestStore:
    """Keeps answered requests on one lane."""

    lane: Lane

    async def reserve(
        self, scope: str, key: str, *, fingerprint: str, keep: timedelta, patience: timedelta
    ) -> StoredRequest | None:
        async with self.lane.transaction() as connection:
            await connection.fetch("api_requests/forget")
            taken = await connection.fetch(
                "api_requests/reserve",
                scope=scope,
                key=key,
                fingerprint=fingerprint,
                keep=keep,
                patience=patience,
            )
            if taken:
                return None
            [row] = await connection.fetch("api_requests/get", scope=scope, key=key)
        return StoredRequest(row["fingerprint"], row["status"], row["content_type"] or "", row["body"] or "")

    async def keep(self, scope: str, key: str, *, status: int, content_type: str, body: str) -> None:
        await self.lane.fetch(
            "api_requests/keep", scope=scope, key=key, status=status, content_type=content_type, body=body
        )

    async def release(self, scope: str, key: str) -> None:
        await self.lane.fetch("api_requests/release", scope=scope, key=key)


def _own(tenant: str) -> str:
    """The tenant whose audit trail tells of a key: one for all tenants belongs to nobody's."""
    return "" if tenant == ALL_TENANTS else tenant


def _api_key(row: Row) -> ApiKey:
    now, expires = rows.moment(row["now"]), rows.maybe_moment(row["expires_at"])
    revoked = rows.maybe_moment(row["revoked_at"])
    scopes = rows.document(row["scopes"])
    return ApiKey(
        prefix=row["prefix"],
        name=row["name"],
        tenant=row["tenant"],
        role=row["role"],
        scopes=None if scopes is None else tuple(scopes),
        sees_payloads=bool(row["sees_payloads"]),
        created_at=rows.moment(row["created_at"]),
        created_by=row["created_by"],
        expires_at=expires,
        last_used_at=rows.maybe_moment(row["last_used_at"]),
        revoked_at=revoked,
        revoked_by=row["revoked_by"],
        replaced_by=row["replaced_by"],
        is_valid=revoked is None and (expires is None or expires > now),
    )
