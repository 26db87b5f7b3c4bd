"""Our statements in a transaction whose handler speaks as another role: the role is laid down while they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backstay.model.database_role import DatabaseRole
from backstay.stores.caller_transaction.sessions import Announce, Found, Session


class ActingSession:
    """A session in which the handler's own statements run as the role, and ours as the connection's owner."""

    def __init__(self, session: Session, role: DatabaseRole) -> None:
        self._session, self._role = session, role

    @property
    def engine(self) -> str:
        return self._session.engine

    @property
    def driver(self) -> object:
        return self._session.driver

    async def take(self) -> None:
        """Take the role on."""
        await self._session.run(self._role.taken)

    async def lay_down(self) -> Session:
        """Lay the role down for good; returns what our statements go through from here on."""
        await self._session.run(self._role.laid_down)
        return self._session

    async def fetch(self, name: str, values: Mapping[str, Any]) -> Found:
        await self._session.run(self._role.laid_down)
        found = await self._session.fetch(name, values)
        await self.take()
        return found

    async def run(self, sql: str) -> Found:
        return await self._session.run(sql)

    def after_commit(self, announce: Announce) -> bool:
        return self._session.after_commit(announce)
