"""Who acts, for whom, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from backstay.client.sync.app import App
from backstay.errors import Forbidden, JobNotFound
from backstay.model.job import Job
from backstay.model.rights import EVERYTHING, OWN_KINDS, covers


@dataclass(frozen=True, slots=True)
class Scope:
    """An actor with a tenant and rights, on the nouns of an application."""

    app: App
    actor: str
    tenant: str
    rights: frozenset[str]

    @property
    def only_tenant(self) -> str | None:
        """The tenant to search in; None for all of them."""
        return None if self.tenant == EVERYTHING else self.tenant

    @property
    def own_tenant(self) -> str:
        """The tenant that new things belong to, and things with a name are looked for in."""
        return "" if self.tenant == EVERYTHING else self.tenant

    def need(self, right: str) -> None:
        """Raise Forbidden unless the actor has this right."""
        if not covers(self.rights, right):
            raise Forbidden(self.actor, right)

    def need_all_tenants(self, right: str) -> None:
        """Raise Forbidden unless the actor has this right and acts for all tenants."""
        self.need(right)
        if self.tenant != EVERYTHING:
            raise Forbidden(self.actor, right, why="for all tenants, because this concerns everybody")

    def check_kind(self, kind: object, right: str) -> None:
        """Raise Forbidden for a kind of Backstay's own, whose arguments only Backstay may choose."""
        if isinstance(kind, str) and kind.startswith(OWN_KINDS):
            raise Forbidden(
                self.actor, right, why=f"and {kind!r} is a kind that only Backstay itself enqueues"
            )

    def sees(self, tenant: str) -> bool:
        """Return True if what belongs to this tenant may be seen."""
        return self.tenant in (EVERYTHING, tenant)

    async def job(self, job_id: UUID | str, right: str) -> Job:
        """The job, if the actor has the right and the tenant; another tenant's is not found."""
        self.need(right)
        job = await self.app.jobs.get(job_id)
        if not self.sees(job.tenant):
            raise JobNotFound(job_id)
        return job
