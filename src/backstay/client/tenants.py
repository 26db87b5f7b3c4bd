"""Keeping tenants apart inside the database, by row security."""

from __future__ import annotations

from dataclasses import dataclass

from backstay.client.enqueue.enqueuer import Enqueuer
from backstay.errors import InvalidSettings


@dataclass(frozen=True)
class Tenants:
    """The row security of one application's tables, from one event loop."""

    _enqueuer: Enqueuer

    async def enforce(self, *, engine: str, application: str) -> None:
        """Let the role `engine` see every row, and the role `application` those of its tenant alone.

        Workers, the dashboard and the API connect as `engine`; programs that store and read jobs with SQL connect
        as `application`, and name their tenant in each transaction: `SET LOCAL backstay.tenant = 'acme'`. Neither
        may be a superuser or have BYPASSRLS. To be called by the owner of the tables, and again after a migration.
        """
        await self._need_postgres()
        await self._enqueuer.stores.service.tenants.enforce(engine=engine, application=application)

    async def relax(self) -> None:
        """Take row security away again; the roles and their rights stay."""
        await self._need_postgres()
        await self._enqueuer.stores.service.tenants.relax()

    async def _need_postgres(self) -> None:
        if (await self._enqueuer.stores.insights.engine()).name != "postgres":
            raise InvalidSettings(
                "SQLite has no row security: keep tenants apart with app.acting_as(...) and the HTTP API, or use "
                "PostgreSQL"
            )
