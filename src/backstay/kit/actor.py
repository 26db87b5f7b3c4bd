"""Who acts: the value that every authentication returns and every action is signed with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

EVERYTHING = "*"


@dataclass(frozen=True)
class Actor:
    """Somebody who was recognised: a name, a tenant, what they may do, and how they were recognised."""

    name: str
    tenant: str = ""
    rights: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    via: str = ""
    """How they were recognised: `session`, `api key`, `jwt`."""
    id: str = ""
    """The stable id behind the name, where there is one."""

    def may(self, right: str) -> bool:
        """Return True if the actor has this right; `jobs.*` covers `jobs.retry`, `*` covers everything."""
        if not right or EVERYTHING in self.rights or right in self.rights:
            return True
        parts = right.split(".")
        return any(".".join([*parts[:depth], EVERYTHING]) in self.rights for depth in range(1, len(parts)))


class Roles:
    """Which rights a role has, declared once by an application.

    ```python
    roles = Roles({"viewer": ["jobs.read"], "operator": ["jobs.*"], "admin": ["*"]})
    ```
    """

    def __init__(self, rights: Mapping[str, Iterable[str]]) -> None:
        self._rights = {role: frozenset(granted) for role, granted in rights.items()}

    @property
    def names(self) -> list[str]:
        """The declared roles."""
        return list(self._rights)

    def rights_of(self, roles: Iterable[str]) -> frozenset[str]:
        """Return what these roles may do together; a role that nobody declared gives nothing."""
        return frozenset(right for role in roles for right in self._rights.get(role, ()))

    def actor(
        self, name: str, roles: Iterable[str], *, tenant: str = "", via: str = "", actor_id: str = ""
    ) -> Actor:
        """Make the actor that has these roles."""
        given = frozenset(roles)
        return Actor(name, tenant, self.rights_of(given), given, via, actor_id)
