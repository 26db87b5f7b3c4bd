"""Who is told: an order of people that is the same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from backstay_oblicore.domain.words import Role


@dataclass(frozen=True)
class Person:
    """Somebody of one company, with the roles held *there* and the sites looked after."""

    id: str
    roles: frozenset[Role] = frozenset()
    sites: frozenset[str] = field(default_factory=frozenset)


def for_obligation(assigned_to: str | None, *, site: str, people: Sequence[Person]) -> str | None:
    """Return whom a reminder goes to: the assignee, else the site's manager, else the company's admin."""
    known = {person.id for person in people}
    if assigned_to in known:
        return assigned_to
    manager = site_manager(site, people)
    return manager or company_admin(people)


def for_deadline(assigned_to: str | None, *, site: str, people: Sequence[Person]) -> list[str]:
    """Return whom a deadline alert goes to: the assignee and the site's manager, else the company's admin."""
    known = {person.id for person in people}
    chosen = [assigned_to if assigned_to in known else None, site_manager(site, people)]
    found = _unique(person for person in chosen if person)
    admin = company_admin(people)
    return found or ([admin] if admin else [])


def site_manager(site: str, people: Sequence[Person]) -> str | None:
    """Return the owner or admin who looks after the site."""
    return _first_by_role(people, lambda person: site in person.sites)


def company_admin(people: Sequence[Person]) -> str | None:
    """Return the company's first owner, else its first admin."""
    return _first_by_role(people, lambda _: True)


def admins(people: Sequence[Person]) -> list[str]:
    """Return every owner and admin."""
    return sorted(person.id for person in people if person.roles & {Role.OWNER, Role.ADMIN})


def for_site(site: str, people: Sequence[Person]) -> list[str]:
    """Return everybody who looks after the site."""
    return sorted(person.id for person in people if site in person.sites)


def for_site_and_admins(site: str | None, people: Sequence[Person]) -> list[str]:
    """Return the company's owners and admins and whoever looks after the site."""
    return sorted({*admins(people), *(for_site(site, people) if site else ())})


def for_renewal(days: int, *, site: str | None, people: Sequence[Person]) -> list[str]:
    """Widen the circle as an expiry date comes near: admins, then the site's staff, then all with access."""
    chosen = set(admins(people))
    if days <= 30 and site:
        chosen |= {person.id for person in people if Role.STAFF in person.roles and site in person.sites}
    if days <= 7:
        chosen |= {person.id for person in people if _has_access(person, site)}
    return sorted(chosen)


def _has_access(person: Person, site: str | None) -> bool:
    return bool(person.roles) and (site is None or site in person.sites or not person.sites)


def _first_by_role(people: Sequence[Person], fits: Callable[[Person], bool]) -> str | None:
    for role in (Role.OWNER, Role.ADMIN):
        found = sorted(person.id for person in people if role in person.roles and fits(person))
        if found:
            return found[0]
    return None


def _unique(ids: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(ids))
