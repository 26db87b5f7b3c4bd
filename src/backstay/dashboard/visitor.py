"""Who looks at a page, and the client that acts in their name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from backstay.app import Backstay
from backstay.client.acting.acting import Acting
from backstay.http.access import ALL_TENANTS, PAYLOADS, Person, acting


@dataclass(frozen=True)
class Visitor:
    """Somebody who was recognised, with the nouns of the application as they may use them."""

    app: Backstay
    person: Person
    client: Acting

    @classmethod
    def of(cls, app: Backstay, person: Person) -> Visitor:
        """Return the visitor behind a person."""
        return cls(app, person, acting(app, person))

    @property
    def sees_payloads(self) -> bool:
        """True if they may see arguments, results, steps and signals."""
        return self.person.may(PAYLOADS)

    @property
    def sees_all_tenants(self) -> bool:
        """True if they act for everybody, and not for one tenant."""
        return self.person.tenant == ALL_TENANTS

    def may(self, right: str) -> bool:
        """Return True if they have this right."""
        return self.person.may(right)

    def may_for_all(self, right: str) -> bool:
        """Return True if they have this right for what concerns every tenant."""
        return self.sees_all_tenants and self.may(right)

    def within(self, tenant: str) -> Acting:
        """Return the client for what belongs to one tenant and is found by its name, such as a schedule."""
        if not self.sees_all_tenants or not tenant:
            return self.client
        return acting(self.app, replace(self.person, tenant=tenant))
