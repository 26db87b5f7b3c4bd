"""What handlers and pages are given: the engine, the tables and the outside parts."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg

from backstay import Backstay, Context
from backstay_oblicore.domain.errors import Unavailable
from backstay_oblicore.settings import Settings
from backstay_oblicore.store import library, notifications
from backstay_oblicore.store.database import Connection, Database, acting_as, to_json
from backstay_oblicore.store.notifications import Note, Written
from backstay_parts.mail import MailSender
from backstay_parts.model import ModelClient
from backstay_parts.sms import SmsSender
from backstay_parts.storage import FolderStorage, Storage, SupabaseStorage


@dataclass
class Services:
    """Everything that acts on the world, put together once."""

    settings: Settings
    app: Backstay
    database: Database
    handlers: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def storage(self) -> Storage:
        """Where files are."""
        folder = self.settings.storage_folder
        if folder is not None:
            base_url = f"{self.settings.public_url}/files"
            return FolderStorage(folder, base_url=base_url, signing_key=self.settings.secret.encode())
        return SupabaseStorage(self.settings.storage_url, key=self.settings.storage_key, bucket="oblicore")

    @cached_property
    def mail(self) -> MailSender:
        """How mail leaves; raises Unavailable if no server is set, so that it waits for one."""
        if not self.settings.mail_url:
            raise Unavailable("no mail server is set: OBLICORE_MAIL_URL=smtp://host:port")
        address = urlsplit(self.settings.mail_url)
        return MailSender(
            address.hostname or "127.0.0.1",
            address.port or 25,
            sender=self.settings.mail_sender,
            username=address.username,
            password=address.password,
            start_tls=address.scheme == "smtps" or None if address.username else False,
        )

    @cached_property
    def sms(self) -> SmsSender | None:
        """How text messages leave; none if no provider is set."""
        if not self.settings.sms_url:
            return None
        return SmsSender(
            self.settings.sms_url,
            account=self.settings.sms_account,
            token=self.settings.sms_token,
            sender=self.settings.sms_sender,
        )

    def model(self, *, seconds: float) -> ModelClient | None:
        """The language model, with a limit a call; none if no address is set."""
        if not self.settings.model_url:
            return None
        return ModelClient(
            self.settings.model_url,
            api_key=self.settings.model_key,
            model=self.settings.model_name,
            timeout=seconds,
        )

    async def prepare(self) -> list[str]:
        """Make or bring up to date every table, the engine's and our own; return the migrations applied."""
        await self.app.migrate()
        applied = await self.database.migrate()
        async with self.database.connection() as connection:
            await library.store(connection)
        return applied

    async def deliver(self, written: Iterable[Written], *, tx: Connection | None = None) -> None:
        """Enqueue the deliveries of what was written, in the caller's transaction or the handler's open one."""
        loud = [{"notification_id": one.id} for one in written if one.leaves_at_once]
        if loud:
            handler = self.handlers["DELIVER_NOTIFICATION"]
            await (handler.options(tx=tx) if tx is not None else handler).enqueue_many(loud)

    @asynccontextmanager
    async def closing(self, ctx: Context, user: UUID | None = None) -> AsyncIterator[Closing]:
        """Open the transaction that ends the job, under the user's or the system's rights.

        Notes that are added to the result are written, and their deliveries enqueued, with everything else.
        """
        async with ctx.transaction() as tx:
            closing = Closing(tx.connection, ctx.now)
            async with acting_as(tx.connection, user):
                yield closing
                written, failed = await notifications.write_each(tx.connection, closing.notes, now=ctx.now)
            for note, reason in failed:
                ctx.log.warning("Notification could not be written", entity_id=note.entity_id, reason=reason)
            await self.deliver(written)
            for kind, args, options in closing.jobs:
                await self.handlers[kind].options(**options).enqueue(**args)
            tx.result({"told": len(written), **closing.result})

    async def remember(self, ctx: Context, **facts: Any) -> None:
        """Keep what a job has done so far, for whoever looks at its dead letter."""
        async with self.database.connection() as connection:
            await connection.execute(
                """
                INSERT INTO oblicore.job_facts (job_id, facts) VALUES ($1, ($2::text)::jsonb)
                ON CONFLICT (job_id) DO UPDATE
                SET facts = oblicore.job_facts.facts || excluded.facts, updated_at = now()
                """,
                ctx.job_id,
                to_json(facts),
            )

    @asynccontextmanager
    async def remembering(self, ctx: Context, facts: Mapping[str, Any]) -> AsyncIterator[None]:
        """Keep the facts that were gathered so far if the block fails."""
        try:
            yield
        except Exception as error:
            try:
                await self.remember(ctx, **facts)
            except asyncpg.PostgresError as broken:
                # The database may be the very thing that failed: what is raised is the first error.
                error.add_note(f"its facts could not be kept: {broken}")
            raise

    async def close(self) -> None:
        """Give everything back that the running event loop holds."""
        await self.database.close()
        await self.app.close()


@dataclass
class Closing:
    """What the last transaction of a job writes."""

    connection: Connection
    now: datetime
    notes: list[Note] = field(default_factory=list)
    jobs: list[tuple[str, dict[str, Any], dict[str, Any]]] = field(default_factory=list)
    result: dict[str, Any] = field(default_factory=dict)

    def then(self, kind: str, *, options: dict[str, Any] | None = None, **args: Any) -> None:
        """Let a job follow, stored together with everything else."""
        self.jobs.append((kind, args, options or {}))
