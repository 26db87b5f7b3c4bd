"""Live status, for somebody who acts."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from uuid import UUID

from backstay.client.acting.scope import Scope
from backstay.errors import FlowNotFound
from backstay.model.live import LiveEvent, Topic, topic_of
from backstay.model.live import Scope as About


@dataclass(frozen=True, slots=True)
class ActingLive:
    """The changes that somebody may see; those of other tenants are left out."""

    scope: Scope

    async def follow(self, topic: str, *, after: int | None = None) -> AsyncGenerator[LiveEvent]:
        """Return the events of a topic: its state first, then every change; raises before the first one.

        What belongs to another tenant is not found, as if it were not there.
        """
        self.scope.need("live.read")
        about = topic_of(topic)
        await self._need_to_see(about)
        return self.scope.app.live.follow(str(about), after=after, tenant=self.scope.only_tenant)

    async def _need_to_see(self, topic: Topic) -> None:
        match topic.scope:
            case About.JOB:
                await self.scope.job(UUID(topic.name), "live.read")
            case About.FLOW:
                flow = await self.scope.app.flows.get(topic.name)
                if not self.scope.sees(flow.tenant):
                    raise FlowNotFound(topic.name)
            case About.TENANT if not self.scope.sees(topic.name):
                self.scope.need_all_tenants("live.read")
            case _:
                return
