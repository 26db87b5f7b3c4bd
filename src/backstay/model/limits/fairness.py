"""Round robin over tenants: whose jobs come next in a fair queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backstay.errors import InvalidSettings

HEAVIEST = 100


@dataclass(frozen=True, slots=True)
class Fair:
    """A queue whose tenants take turns; one of weight 3 has three jobs in each turn, others one."""

    weights: tuple[tuple[str, int], ...] = ()

    def weight(self, tenant: str) -> int:
        """How many jobs a tenant has in a turn."""
        return dict(self.weights).get(tenant, 1)


def fair_queue(queue: str, weights: Mapping[str, int] | None) -> Fair:
    """The declaration of a fair queue; raises InvalidSettings for weights that are none."""
    for tenant, weight in (weights or {}).items():
        if not tenant or type(weight) is not int or not 1 <= weight <= HEAVIEST:
            raise InvalidSettings(
                f"queue {queue!r}: the weight of tenant {tenant!r} cannot be {weight!r}: "
                f"it needs a tenant's name and a whole number from 1 to {HEAVIEST}"
            )
    return Fair(tuple(sorted((weights or {}).items())))


@dataclass(frozen=True, slots=True)
class Place:
    """Where the round has come to: behind this tenant, or in the middle of its turn with `spent` jobs taken."""

    tenant: str = ""
    spent: int = 0


START = Place()


def place_after(place: Place, served: Iterable[str], fair: Fair) -> Place:
    """Where the round stands after jobs of these tenants were taken from `place` on.

    A round goes through the names from `place` to the last and from the first back to it. Within one claim there may
    be several rounds, in each of which a tenant takes its weight.
    """
    taken = Counter(served)
    if not taken:
        return place
    if place.spent and place.tenant in taken:
        taken[place.tenant] += place.spent
    rounds = {tenant: -(-count // fair.weight(tenant)) for tenant, count in taken.items()}
    latest = max(rounds.values())

    def order(tenant: str) -> tuple[bool, str]:
        is_ahead = tenant > place.tenant or (tenant == place.tenant and place.spent > 0)
        return (not is_ahead, tenant)

    last = max((tenant for tenant, number in rounds.items() if number == latest), key=order)
    spent = taken[last] - (latest - 1) * fair.weight(last)
    return Place(last, spent if spent < fair.weight(last) else 0)
