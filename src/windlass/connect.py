"""Puts the parts together: a URL becomes a database, a database becomes stores and wake-ups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from windlass.env import Env
from windlass.errors import InvalidSettings, SchemaMismatch
from windlass.flows import Followed
from windlass.logs import log_event
from windlass.promotion import Promotion
from windlass.settings import hide_password
from windlass.stores import migrate
from windlass.stores.aftermath import Aftermath, Tell, tell_nobody
from windlass.stores.audit import AuditStore
from windlass.stores.claims import ClaimStore
from windlass.stores.completing.completing import Completions
from windlass.stores.contract import Stores
from windlass.stores.database import Database, Lane
from windlass.stores.dead_letters import DeadLetterStore
from windlass.stores.enqueuing import EnqueuingStore
from windlass.stores.flows import FlowStore
from windlass.stores.insights import InsightStore
from windlass.stores.jobs import JobStore
from windlass.stores.joining.joining import Home, Joining
from windlass.stores.joining.postgres import PostgresHome
from windlass.stores.joining.sqlite import SqliteHome
from windlass.stores.kinds import KindStore
from windlass.stores.limits import LimitStore
from windlass.stores.locks import LockStore
from windlass.stores.overrides import OverrideStore
from windlass.stores.postgres import KEPT_ALIVE, Postgres, notice_silence
from windlass.stores.promoted import PromotedStore
from windlass.stores.promoted import script as promoted_script
from windlass.stores.queues import QueueStore
from windlass.stores.quotas import QuotaStore
from windlass.stores.ready import ReadyLane
from windlass.stores.schedules import ScheduleStore
from windlass.stores.signals import SignalStore
from windlass.stores.sqlite import Sqlite
from windlass.stores.sqlite_file import open_file
from windlass.stores.steps import ProgressStore, StepStore
from windlass.stores.upkeep import UpkeepStore
from windlass.stores.workers import WorkerStore
from windlass.wakeups.contract import LATER, Wakeups, done_hint, queue_hint
from windlass.wakeups.postgres import PostgresWakeups
from windlass.wakeups.sqlite import SqliteWakeups

HANDLER_CONNECTIONS = 20


def open_database(url: str, *, clock: Callable[[], datetime] | None = None) -> Database:
    """The database behind a URL; nothing is connected yet. `clock` holds the time in tests.

    `sqlite:///jobs.db` is relative, `sqlite:////var/jobs.db` absolute, `sqlite://:memory:` lives in this process.
    `postgresql://…?pooled=true` is for a transaction pooler such as PgBouncer.
    """
    scheme, _, rest = url.partition("://")
    match scheme:
        case "sqlite":
            return Sqlite(open_file(_sqlite_path(url, rest)), clock=clock)
        case "postgresql" | "postgres":
            plain, pooled = _take_pooled(url)
            return Postgres(plain, clock=clock, pooled=pooled)
        case _:
            raise InvalidSettings(
                f"cannot use the database URL {hide_password(url)!r}: "
                "it must begin with sqlite:/// or postgresql://"
            )


def stores_on(lane: Lane, *, tell: Tell = tell_nobody) -> Stores:
    """Every store, on the connections of one purpose; `tell` hears which jobs go on because others ended."""
    after = Aftermath(lane, tell)
    return Stores(
        enqueuing=EnqueuingStore(lane),
        claims=ClaimStore(lane, after),
        jobs=JobStore(lane, after),
        upkeep=UpkeepStore(lane, after),
        dead_letters=DeadLetterStore(lane, after),
        kinds=KindStore(lane),
        workers=WorkerStore(lane),
        queues=QueueStore(lane),
        quotas=QuotaStore(lane),
        audit=AuditStore(lane),
        insights=InsightStore(lane),
        overrides=OverrideStore(lane),
        promoted=PromotedStore(lane),
        steps=StepStore(lane),
        progress=ProgressStore(lane),
        flows=FlowStore(lane, after),
        limits=LimitStore(lane),
        schedules=ScheduleStore(lane),
        locks=LockStore(lane),
        signals=SignalStore(lane),
    )


def _sqlite_path(url: str, rest: str) -> str:
    if rest in (":memory:", "/:memory:"):
        return ":memory:"
    if not rest.startswith("/") or rest == "/":
        raise InvalidSettings(
            f"cannot use the database URL {url!r}: write sqlite:///name.db for a file here, "
            "sqlite:////path/name.db for one elsewhere, or sqlite://:memory:"
        )
    return unquote(rest[1:])


def _take_pooled(url: str) -> tuple[str, bool]:
    parts = urlsplit(url)
    asked = parse_qs(parts.query).get("pooled", ["false"])[-1]
    query = "&".join(part for part in parts.query.split("&") if part and not part.startswith("pooled="))
    return parts._replace(query=query).geturl(), asked.lower() in ("1", "true", "yes")


@dataclass(frozen=True)
class Connections:
    """Everything that one event loop holds open."""

    url: str
    database: Database
    wakeups: Wakeups
    env: Env
    pools: list[Any] = field(default_factory=list)

    def stores(self, purpose: str, *, size: int = 1) -> Stores:
        """Every store, on the connections kept for one purpose."""
        return stores_on(self.database.lane(purpose, size=size), tell=self._tell)

    def stores_when(self, ready: Callable[[], Awaitable[None]], purpose: str, *, size: int = 1) -> Stores:
        """The same, waiting for `ready` before every use."""
        return stores_on(ReadyLane(self.database.lane(purpose, size=size), ready), tell=self._tell)

    def _tell(self, followed: Followed) -> None:
        if followed.problem is not None:
            log_event("store.failed", doing="follow jobs that ended", error=followed.problem)
        hints = {*map(queue_hint, followed.queues), *map(done_hint, followed.awaited)}
        if hints:
            # What is released may be due later.
            self.wakeups.send(LATER, *sorted(hints))

    def joining(self, ready: Callable[[], Awaitable[None]]) -> Joining:
        """Store jobs inside transactions that callers opened on this database."""
        if isinstance(self.database, Sqlite):
            return Joining(SqliteHome(self.database.file.path, self.database.clock), ready)
        return Joining(PostgresHome(self.url), ready)

    async def prepare(self) -> None:
        """See that the tables are there: a file of our own is brought up to date, a server must be already."""
        try:
            await migrate.require_current(self.database)
        except SchemaMismatch:
            # Only when something is missing: writing would wait for a transaction that a caller has open on the file.
            if not isinstance(self.database, Sqlite):
                raise
            await migrate.migrate(self.database)

    async def migrate(self) -> list[str]:
        """Bring the tables up to this release; returns the names of the migrations applied now."""
        applied = await migrate.migrate(self.database)
        return [f"{migration.number:04} {migration.name}" for migration in applied]

    async def drift(self) -> list[str]:
        """How the tables differ from those of this release, a line each; raises SchemaMismatch if they are older."""
        await migrate.require_current(self.database)
        return [str(difference) for difference in await migrate.drift(self.database)]

    def script(self, promotions: Sequence[Promotion] = ()) -> str:
        """All migrations as SQL, to read or to run by hand, and what promoted fields need."""
        dialect = self.database.dialect
        return migrate.script(dialect) + promoted_script(dialect, promotions)

    async def secret(self) -> bytes:
        """A secret of this installation, made when first asked for."""
        lane = self.database.lane("schema")
        found = await lane.fetch("schema/get_fact", key="secret")
        if not found:
            await lane.fetch("schema/set_fact", key="secret", value=self.env.secret())
            found = await lane.fetch("schema/get_fact", key="secret")
        return bytes.fromhex(found[0]["value"])

    async def close(self) -> None:
        """Close everything."""
        await self.wakeups.close()
        for pool in self.pools:
            pool.terminate()
        self.pools.clear()
        await self.database.close()

    async def handler_pool(self) -> Any:
        """Connections to PostgreSQL for handlers' own transactions, with the server's ordinary settings."""
        if not self.pools:
            assert isinstance(self.database, Postgres)
            # A pooler has sessions of its own with the server, and refuses settings it does not know.
            options: dict[str, Any] = (
                {"statement_cache_size": 0} if self.database.pooled else {"server_settings": KEPT_ALIVE}
            )
            self.pools.append(
                asyncpg.create_pool(
                    self.database.url,
                    min_size=0,
                    max_size=HANDLER_CONNECTIONS,
                    max_inactive_connection_lifetime=60,
                    timeout=10,
                    init=notice_silence,
                    **options,
                )
            )
        return await self.pools[0]


def open_completions(url: str, *, env: Env, clock: Callable[[], datetime] | None, app: Any) -> Completions:
    """Makes transactions in which handlers complete their jobs; nothing is connected yet."""
    scheme, _, rest = url.partition("://")
    plain, pooled = (url, False) if scheme == "sqlite" else _take_pooled(url)
    home: Home = PostgresHome(url)
    if scheme == "sqlite":
        path = _sqlite_path(url, rest)
        home = SqliteHome(path if path == ":memory:" else str(Path(path).absolute()), lambda: 0)

    async def pool() -> Any:
        # What is prepared is also closed with its loop.
        await app.jobs.joiner.prepare()
        return await app.connections.handler_pool()

    return Completions(home=home, url=plain, pooled=pooled, clock=clock, env=env, pool=pool)


def open_connections(url: str, *, env: Env, clock: Callable[[], datetime] | None = None) -> Connections:
    """The connections of the running event loop; each is opened when first used."""
    database = open_database(url, clock=clock)
    if isinstance(database, Postgres):
        return Connections(
            url,
            database,
            PostgresWakeups(database.lane("hints"), None if database.pooled else database.connect, env),
            env,
        )
    assert isinstance(database, Sqlite)
    return Connections(url, database, SqliteWakeups(database.file.path), env)
