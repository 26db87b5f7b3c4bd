"""Who listens to jobs and what they are to hear, once for both databases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from backstay.model.live import Change, OutboxLook
from backstay.stores import rows
from backstay.stores.database.interface import Lane, Row

MOST_NUMBERED = 5000
KEEP_UNTOLD = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OutboxStore:
    """Keeps listeners and changes on one lane."""

    lane: Lane

    async def listen(self, topics: Sequence[str], *, length: timedelta) -> dict[str, int | None]:
        # In one order, so that two who renew the same topics cannot wait for each other.
        asked = [{"topic": topic, "length": length} for topic in sorted(topics)]
        return _since(await self.lane.fetch_each("outbox/listen", asked))

    async def listen_always(self, topic: str) -> int | None:
        return _since(await self.lane.fetch("outbox/listen_always", topic=topic))[topic]

    async def hush(self, topic: str) -> None:
        await self.lane.fetch("outbox/hush", topic=topic)

    async def since(self, topic: str) -> int | None:
        return _since(await self.lane.fetch("outbox/listener", topic=topic)).get(topic)

    async def mark(self) -> int:
        return int((await self.lane.fetch("outbox/mark"))[0]["mark"])

    async def oldest(self) -> int:
        return int((await self.lane.fetch("outbox/oldest"))[0]["oldest"])

    async def confirm(self, topics: Sequence[str]) -> int:
        async with self.lane.transaction() as connection:
            # A position of its own: what has it or comes after it is whole.
            last = int((await connection.fetch("outbox/lock_head"))[0]["last"]) + 1
            await connection.fetch("outbox/move_head", last=last)
            asked = [{"topic": topic} for topic in sorted(topics)]
            await connection.fetch_each("outbox/confirm", asked, position=last)
        return last

    async def look(self) -> OutboxLook:
        row = (await self.lane.fetch("outbox/look"))[0]
        return OutboxLook(row["last"], row["forgotten"], bool(row["has_new"]), row["told"])

    async def number(self, *, limit: int = MOST_NUMBERED) -> int:
        async with self.lane.transaction() as connection:
            last = int((await connection.fetch("outbox/lock_head"))[0]["last"])
            given = await connection.fetch("outbox/number", last=last, limit=limit)
            if given:
                await connection.fetch("outbox/move_head", last=last + len(given))
        return len(given)

    async def after(self, position: int, *, limit: int) -> list[Change]:
        return [_change(row) for row in await self.lane.fetch("outbox/after", position=position, limit=limit)]

    async def untold(self, *, limit: int) -> list[Change]:
        return [_change(row) for row in await self.lane.fetch("outbox/untold", limit=limit)]

    async def note_told(self, position: int) -> None:
        await self.lane.fetch("outbox/note_told", position=position)

    async def forget(self, *, keep: timedelta) -> None:
        async with self.lane.transaction() as connection:
            await connection.fetch("outbox/forget_listeners")
            await connection.fetch("outbox/lock_head")
            old = (await connection.fetch("outbox/old", keep=keep, keep_untold=KEEP_UNTOLD))[0]["position"]
            if old is not None:
                await connection.fetch("outbox/forget", position=old)
                await connection.fetch("outbox/note_forgotten", position=old)


def _since(found: Sequence[Row]) -> dict[str, int | None]:
    return {row["topic"]: row["since"] for row in found}


def _change(row: Row) -> Change:
    return Change(
        position=row["position"],
        at=rows.moment(row["at"]),
        job_id=UUID(str(row["job_id"])),
        kind=row["kind"],
        queue=row["queue"],
        tenant=row["tenant"],
        flow_id=None if row["flow_id"] is None else UUID(str(row["flow_id"])),
        from_state=row["from_state"],
        to_state=row["to_state"],
        reason=row["reason"],
        attempt=row["attempt"],
        progress=rows.document(row["progress"]),
    )
