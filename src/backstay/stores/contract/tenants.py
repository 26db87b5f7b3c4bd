"""What keeping tenants apart inside the database asks of a store."""

from __future__ import annotations

from typing import Protocol


class Tenants(Protocol):
    """Row security, where the database has it."""

    async def enforce(self, *, engine: str, application: str) -> None:
        """Let one role see every row, and another only those of the tenant that its transaction has named."""
        ...

    async def relax(self) -> None:
        """Take it away again."""
        ...
