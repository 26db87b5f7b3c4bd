"""What plain SQL knows of applications' profiles, once for both databases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from backstay.model.policy.told_profile import ToldProfile
from backstay.stores import rows
from backstay.stores.database.interface import Connection, Lane
from backstay.stores.database.queries import with_names


@dataclass(frozen=True, slots=True)
class ProfileStore:
    """Keeps profiles on one lane."""

    lane: Lane

    async def tell(self, profile: ToldProfile) -> bool:
        async with self.lane.transaction() as connection:
            await connection.fetch("promoted/take_turn")
            if await _known(connection, profile.name) == profile:
                return False
            await connection.fetch("profiles/remove", profile=profile.name)
            await connection.fetch(
                "profiles/insert",
                profile=profile.name,
                priorities=_json(profile.priorities),
                tenant_alias=profile.tenant_alias,
            )
            await _insert_parts(connection, profile)
            for query in ("profiles/remove_view", "profiles/make_view"):
                await connection.fetch(with_names(query, _names(profile)))
            return True

    async def known(self, name: str) -> ToldProfile | None:
        return await _known(self.lane, name)


async def _insert_parts(connection: Connection, profile: ToldProfile) -> None:
    own = {"profile": profile.name}
    words = [
        {**own, "state": state, "detail": detail, "word": word}
        for (state, detail), word in sorted(profile.words.items())
    ]
    parts = {
        "profiles/add_word": words,
        "profiles/add_kind": [{**own, "kind": kind} for kind in sorted(profile.kinds)],
        "profiles/add_lane": [{**own, **place} for place in _places(profile.lanes)],
        "profiles/add_category": [{**own, **place} for place in _places(profile.categories)],
    }
    for query, values in parts.items():
        if values:
            await connection.fetch_each(query, values)


async def _known(connection: Connection, name: str) -> ToldProfile | None:
    found = await connection.fetch("profiles/get", profile=name)
    if not found:
        return None
    places: dict[str, dict[str, tuple[str, ...]]] = {"lane": {}, "category": {}}
    for row in await connection.fetch("profiles/places", profile=name):
        places[row["part"]][row["name"]] = tuple(rows.document(row["kinds"]) or ())
    words = await connection.fetch("profiles/words", profile=name)
    kinds = await connection.fetch("profiles/kinds", profile=name)
    return ToldProfile(
        name=name,
        priorities=rows.document(found[0]["priorities"]),
        tenant_alias=found[0]["tenant_alias"],
        words={(row["state"], row["detail"]): row["word"] for row in words},
        lanes=places["lane"],
        categories=places["category"],
        kinds=frozenset(row["kind"] for row in kinds),
    )


def _names(profile: ToldProfile) -> dict[str, str]:
    return {
        "view": profile.view,
        "profile": profile.name,
        "tenant": profile.tenant_alias,
        "own_priority": profile.own_priority,
    }


def _places(declared: Mapping[str, tuple[str, ...]]) -> list[dict[str, Any]]:
    return [
        {"name": name, "kinds": _json(list(kinds)) if kinds else None}
        for name, kinds in sorted(declared.items())
    ]


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
