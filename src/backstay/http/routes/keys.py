"""/keys: the API keys that let programs in."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from backstay.http.caller import AsCaller
from backstay.http.router import operations
from backstay.http.values.common import Done, Listed, WithReason
from backstay.http.values.keys import CreatedKey, KeyShown, NewKey, Rotation

keys = operations("keys")

Prefix = Annotated[str, Path(min_length=1, max_length=20, description="The key's prefix.")]


@keys.get("", summary="List API keys")
async def list_keys(client: AsCaller, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> Listed[KeyShown]:
    """List keys, newest first, also those that are no longer valid."""
    found = await client.api_keys.all(limit=limit)
    return Listed[KeyShown](items=[KeyShown.model_validate(one) for one in found])


@keys.post("", status_code=201, summary="Make an API key")
async def create_key(client: AsCaller, body: NewKey) -> CreatedKey:
    """Make a key; its text is in this answer and nowhere else."""
    made = await client.api_keys.create(
        body.name,
        role=body.role.value,
        tenant=body.tenant,
        scopes=body.scopes,
        sees_payloads=body.sees_payloads,
        expires=body.expires,
    )
    return CreatedKey.model_validate(made)


@keys.get("/{prefix}", summary="Look at an API key")
async def get_key(client: AsCaller, prefix: Prefix) -> KeyShown:
    """Show a key: its role, its scopes, when it was used last."""
    return KeyShown.model_validate(await client.api_keys.get(prefix))


@keys.post("/{prefix}/rotate", status_code=201, summary="Rotate an API key")
async def rotate_key(client: AsCaller, prefix: Prefix, body: Rotation) -> CreatedKey:
    """Make a key that takes over from this one; both are valid for the overlap."""
    return CreatedKey.model_validate(await client.api_keys.rotate(prefix, overlap=body.overlap or 0))


@keys.post("/{prefix}/revoke", summary="Revoke an API key")
async def revoke_key(client: AsCaller, prefix: Prefix, body: WithReason) -> Done:
    """Let a key open nothing any more, from its next request on."""
    return Done(done=await client.api_keys.revoke(prefix, reason=body.reason))
