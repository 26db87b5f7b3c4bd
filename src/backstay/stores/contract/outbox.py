"""What live status asks of a store: who listens to which jobs, and what has happened to them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Protocol

from backstay.model.live import Change, OutboxLook


class Outbox(Protocol):
    """Listeners and changes. A change is written in the transaction that makes it, and only where somebody listens."""

    async def listen(self, topics: Sequence[str], *, length: timedelta) -> dict[str, int | None]:
        """Listen to topics for a while, or a while longer.

        Returns for each from which position on its changes are whole; None until `confirm` has said so.
        """
        ...

    async def listen_always(self, topic: str) -> int | None:
        """Listen to a topic without end."""
        ...

    async def hush(self, topic: str) -> None:
        """Stop listening to a topic; other listeners stay."""
        ...

    async def since(self, topic: str) -> int | None:
        """From which position on the changes of a topic are whole; None where nobody listens or it is not confirmed."""
        ...

    async def mark(self) -> int:
        """A number that `oldest` reaches when every transaction that writes now has ended."""
        ...

    async def oldest(self) -> int:
        """How far transactions have ended."""
        ...

    async def confirm(self, topics: Sequence[str]) -> int:
        """Note that no transaction is left that does not know of these listeners; returns the position from now on."""
        ...

    async def look(self) -> OutboxLook:
        """How far positions were given, what is kept, and whether there is anything new."""
        ...

    async def number(self, *, limit: int = ...) -> int:
        """Give positions to the changes that have become visible; returns how many."""
        ...

    async def after(self, position: int, *, limit: int) -> list[Change]:
        """Changes after a position, in order."""
        ...

    async def untold(self, *, limit: int) -> list[Change]:
        """Changes that webhooks were not told yet, in order."""
        ...

    async def note_told(self, position: int) -> None:
        """Note that webhooks were told of the changes up to a position."""
        ...

    async def forget(self, *, keep: timedelta) -> None:
        """Remove listeners that have run out, and changes that are older or that nobody listens to."""
        ...
