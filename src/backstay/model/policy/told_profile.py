"""What the database keeps of an application's profile, for plain SQL and for readers of its views."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from backstay.errors import InvalidSettings
from backstay.model.policy.profile import DEFAULT, PriorityScale, Profile, places

_WIDEST = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldProfile:
    """A profile as rows: words by (state, detail), lanes and categories with the kinds they are for."""

    name: str
    priorities: Mapping[str, Any]
    tenant_alias: str
    words: Mapping[tuple[str, str], str]
    lanes: Mapping[str, tuple[str, ...]]
    categories: Mapping[str, tuple[str, ...]]
    kinds: frozenset[str]

    @property
    def view(self) -> str:
        """The view of jobs in its words."""
        slug = re.sub(r"[^a-z0-9]+", "_", self.name.lower()).strip("_")
        if not slug or len(slug) > _WIDEST:
            raise InvalidSettings(
                f"the profile {self.name!r} cannot name a view: use 1 to {_WIDEST} letters and digits"
            )
        return f"jobs_as_{slug}"

    @property
    def own_priority(self) -> str:
        """How its view makes the application's number of a rank."""
        return "job.priority" if self.priorities["first"] == "low" else "11 - job.priority"


def told(profile: Profile, kinds: Iterable[str]) -> ToldProfile | None:
    """What there is to tell; None where the profile says nothing that the database would have to know."""
    has_own_names = profile.priority != DEFAULT.priority or profile.tenant_alias != DEFAULT.tenant_alias
    if not (profile.words or profile.has_places or has_own_names):
        return None
    if not re.fullmatch(r"[a-z_][a-z0-9_]{0,62}", profile.tenant_alias):
        raise InvalidSettings(
            f"the profile {profile.name!r} cannot call tenants {profile.tenant_alias!r}: that is the name of a column, "
            "so use lower-case letters, digits and underscores"
        )
    return ToldProfile(
        name=profile.name,
        priorities=_priorities(profile.priority),
        tenant_alias=profile.tenant_alias,
        words={(state.value, detail): word for (state, detail), word in profile.words.items()},
        lanes=places(profile.lanes),
        categories=places(profile.categories),
        kinds=frozenset(kinds),
    )


def _priorities(scale: PriorityScale) -> dict[str, Any]:
    return {
        "first": scale.first,
        "names": {name: rank for name, rank in scale.names.items() if isinstance(name, str)},
        "numbers": {str(name): rank for name, rank in scale.names.items() if isinstance(name, int)},
    }
