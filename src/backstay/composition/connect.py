"""Puts the parts together: a URL becomes a database, a database becomes stores and wake-ups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from backstay.errors import InvalidSettings, SchemaMismatch
from backstay.handlers.registry import Registry
from backstay.model.limits.fairness import Fair
from backstay.model.promoted_fields import Promotion
from backstay.model.suggestions import Rebuilt
from backstay.runtime.env import Env
from backstay.settings.logs import log_event
from backstay.settings.migrations import Migrations
from backstay.settings.settings import hide_password
from backstay.settings.sources import Settings
from backstay.stores.alerts import AlertStore
from backstay.stores.api_keys import ApiKeyStore, ApiRequestStore
from backstay.stores.archive import ArchiveStore
from backstay.stores.audit import AuditStore
from backstay.stores.audit_chain import AuditChainStore
from backstay.stores.caller_transaction.joining import Joining, TargetDatabase
from backstay.stores.caller_transaction.postgres import PostgresTarget
from backstay.stores.caller_transaction.sqlite import SqliteTarget
from backstay.stores.claims.claims import ClaimStore
from backstay.stores.contract import ServiceStores, Stores
from backstay.stores.database import migrate
from backstay.stores.database.interface import Database, Lane
from backstay.stores.database.postgres import KEPT_ALIVE, Postgres, notice_silence
from backstay.stores.database.reading import ReadingLane
from backstay.stores.database.ready import ReadyLane
from backstay.stores.database.sqlite import Sqlite
from backstay.stores.database.sqlite_file import open_file
from backstay.stores.dead_letters import DeadLetterStore
from backstay.stores.dispatch import DispatchStore
from backstay.stores.enqueuing import EnqueuingStore
from backstay.stores.erasing import ErasingStore
from backstay.stores.failures import FailureStore
from backstay.stores.figures import FigureStore
from backstay.stores.flows import FlowStore
from backstay.stores.handler_transaction.completing import Completions
from backstay.stores.insights import InsightStore
from backstay.stores.job_ended import AfterEnd, SendHints, send_no_hints
from backstay.stores.jobs import JobStore
from backstay.stores.kinds import KindStore
from backstay.stores.limits import LimitStore
from backstay.stores.locks import LockStore
from backstay.stores.operations import OperationStore
from backstay.stores.outbox import OutboxStore
from backstay.stores.overrides import OverrideStore
from backstay.stores.profiles import ProfileStore
from backstay.stores.promoted import PromotedStore
from backstay.stores.promoted import script as promoted_script
from backstay.stores.queues import QueueStore
from backstay.stores.quotas import QuotaStore
from backstay.stores.schedules import ScheduleStore
from backstay.stores.signals import SignalStore
from backstay.stores.steps import ProgressStore, StepStore
from backstay.stores.tenants import TenantStore
from backstay.stores.upkeep import UpkeepStore
from backstay.stores.webhooks import WebhookStore
from backstay.stores.workers import WorkerStore
from backstay.wakeups.contract import Wakeups
from backstay.wakeups.followed import send_followed
from backstay.wakeups.postgres import PostgresWakeups
from backstay.wakeups.sqlite import SqliteWakeups

if TYPE_CHECKING:
    from backstay.composition.loop_resources import Resources
    from backstay.dispatch.redis_dispatch import RedisDispatch  # needs the package redis

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


def stores_on(lane: Lane, *, send_hints: SendHints = send_no_hints) -> Stores:
    """Every store, on the connections of one purpose; `send_hints` wakes those who wait for jobs that go on now."""
    after = AfterEnd(lane, send_hints)
    return Stores(
        enqueuing=EnqueuingStore(lane),
        claims=ClaimStore(lane, after),
        jobs=JobStore(lane, after),
        upkeep=UpkeepStore(lane, after),
        dead_letters=DeadLetterStore(lane, after),
        erasing=ErasingStore(lane),
        kinds=KindStore(lane),
        workers=WorkerStore(lane),
        queues=QueueStore(lane),
        quotas=QuotaStore(lane),
        audit=AuditStore(lane),
        insights=InsightStore(lane),
        figures=FigureStore(lane),
        overrides=OverrideStore(lane),
        profiles=ProfileStore(lane),
        promoted=PromotedStore(lane),
        steps=StepStore(lane),
        progress=ProgressStore(lane),
        flows=FlowStore(lane, after),
        limits=LimitStore(lane),
        schedules=ScheduleStore(lane),
        locks=LockStore(lane),
        signals=SignalStore(lane),
        service=ServiceStores(
            api_keys=ApiKeyStore(lane),
            api_requests=ApiRequestStore(lane),
            webhooks=WebhookStore(lane),
            alerts=AlertStore(lane),
            audit_chain=AuditChainStore(lane),
            outbox=OutboxStore(lane),
            operations=OperationStore(lane),
            failures=FailureStore(lane),
            tenants=TenantStore(lane),
        ),
        archive=ArchiveStore(lane),
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

    url: str = field(repr=False)
    database: Database
    wakeups: Wakeups
    env: Env
    own: Migrations | None = None
    dispatch: RedisDispatch | None = None
    replica: Database | None = None
    pools: list[Any] = field(default_factory=list)

    def stores(self, purpose: str, *, size: int = 1) -> Stores:
        """Every store, on the connections kept for one purpose."""
        return self._stores_on(self.database.lane(purpose, size=size))

    def stores_when(self, ready: Callable[[], Awaitable[None]], purpose: str, *, size: int = 1) -> Stores:
        """The same, waiting for `ready` before every use."""
        lane: Lane = ReadyLane(self.database.lane(purpose, size=size), ready)
        if self.replica is not None:
            lane = ReadingLane(lane, self.replica.lane(purpose, size=size))
        return self._stores_on(lane)

    def _stores_on(self, lane: Lane) -> Stores:
        stores = stores_on(lane, send_hints=partial(send_followed, self.wakeups, emit=log_event))
        if self.dispatch is None:
            return stores
        return replace(
            stores,
            enqueuing=self.dispatch.enqueuing(stores.enqueuing),
            claims=self.dispatch.claims(stores.claims, DispatchStore(lane)),
            progress=self.dispatch.telling(stores.progress),
        )

    def truth(self) -> DispatchStore:
        """PostgreSQL, as what Redis holds is made from it."""
        return DispatchStore(self.database.lane("maintenance"))

    async def rebuild_dispatch(self) -> Rebuilt:
        """Rebuild the lists of jobs in Redis; raises InvalidSettings where jobs are not dispatched through Redis."""
        if self.dispatch is None:
            raise InvalidSettings(
                "jobs are not dispatched through Redis here: set BACKSTAY_DISPATCH=redis://host:6379/0"
            )
        await self.prepare()
        return await self.dispatch.rebuild(self.truth())

    def joining(self, ready: Callable[[], Awaitable[None]]) -> Joining:
        """Store jobs inside transactions that callers opened on this database."""
        if isinstance(self.database, Sqlite):
            return Joining(SqliteTarget(self.database.file.path, self.database.clock), ready)
        clock = self.database.clock if isinstance(self.database, Postgres) else None
        return Joining(PostgresTarget(self.url, clock), ready)

    async def prepare(self) -> None:
        """See that the tables are there: a SQLite file is migrated, a server must be current already."""
        try:
            await migrate.require_current(self.database)
            if self.own is not None:
                await migrate.require_own(self.database, self.own)
        except SchemaMismatch:
            # Only when something is missing: writing would wait for a transaction that a caller has open on the file.
            if not isinstance(self.database, Sqlite):
                raise
            await self.migrate()
            await self.refresh_own_views()

    async def migrate(self) -> list[str]:
        """Bring our tables and the application's up to date; returns the names of the migrations applied now."""
        applied = await migrate.migrate(self.database)
        if self.own is not None:
            applied += await migrate.migrate_own(self.database, self.own)
        return [str(migration) for migration in applied]

    async def refresh_own_views(self) -> list[str]:
        """Make the application's views, if they or what they show have changed; returns what was made now."""
        return (
            [] if self.own is None else list(map(str, await migrate.migrate_views(self.database, self.own)))
        )

    async def drift(self) -> list[str]:
        """How the tables differ from those of this release, a line each; raises SchemaMismatch if they are older."""
        await migrate.require_current(self.database)
        return [str(difference) for difference in await migrate.drift(self.database)]

    def script(self, promotions: Sequence[Promotion] = ()) -> str:
        """All migrations as SQL, to read or to run by hand, and what promoted fields need."""
        dialect = self.database.dialect
        tables, views = ("", "") if self.own is None else migrate.own_script(dialect, self.own)
        return migrate.script(dialect) + tables + promoted_script(dialect, promotions) + views

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
        if self.dispatch is not None:
            await self.dispatch.close()
        for pool in self.pools:
            pool.terminate()
        self.pools.clear()
        if self.replica is not None:
            await self.replica.close()
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


def open_completions(
    url: str, here: Callable[[], Resources], *, env: Env, clock: Callable[[], datetime] | None
) -> Completions:
    """Make transactions in which handlers complete their jobs; nothing is connected yet.

    `here` returns what the running loop has open by then.
    """
    scheme, _, rest = url.partition("://")
    plain, pooled = (url, False) if scheme == "sqlite" else _take_pooled(url)
    home: TargetDatabase = PostgresTarget(url, clock)
    if scheme == "sqlite":
        path = _sqlite_path(url, rest)
        home = SqliteTarget(path if path == ":memory:" else str(Path(path).absolute()), lambda: 0)

    async def pool() -> Any:
        return await here().handler_pool()

    return Completions(home=home, url=plain, pooled=pooled, clock=clock, env=env, pool=pool)


@dataclass(frozen=True)
class OtherServers:
    """The URLs of other servers: what carries hints instead of the database, a Redis that suggests what to claim, and
    a replica that lists and figures are read from.

    `fair` are the queues whose tenants take turns.
    """

    wakeups: str | None = None
    dispatch: str | None = None
    replica: str | None = None
    fair: Mapping[str, Fair] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Settings, registry: Registry) -> OtherServers:
        """As an application's settings name them."""
        return cls(settings.wakeups, settings.dispatch, settings.read_url, registry.fair)


def open_connections(
    url: str,
    *,
    env: Env,
    clock: Callable[[], datetime] | None = None,
    own: Migrations | None = None,
    beside: OtherServers | None = None,
) -> Connections:
    """The connections of the running event loop; each is opened when first used.

    With a clock of its own a test needs no other server.
    """
    others = beside if beside is not None and clock is None else OtherServers()
    # Before the database is opened: both may refuse, and an open database in memory would be found by the next one.
    suggesting = None if others.dispatch is None else open_dispatch(others.dispatch, url, others.fair, env)
    named = None if others.wakeups is None else open_wakeups(others.wakeups, url, env)
    database = open_database(url, clock=clock)
    carrier: Wakeups
    if named is not None:
        carrier = named
    elif isinstance(database, Postgres):
        carrier = PostgresWakeups(database.lane("hints"), None if database.pooled else database.connect, env)
    else:
        assert isinstance(database, Sqlite)
        carrier = SqliteWakeups(database.file.path)
    replica = None if others.replica is None else open_database(others.replica, clock=clock)
    return Connections(url, database, carrier, env, own, suggesting, replica)


def open_dispatch(redis: str, url: str, fair: Mapping[str, Fair], env: Env) -> RedisDispatch:
    """The Redis that suggests what to claim; nothing is connected yet. Raises InvalidSettings where it cannot be."""
    if not url.startswith(("postgresql://", "postgres://")):
        raise InvalidSettings(
            f"jobs in {hide_password(url)} are not dispatched through Redis: that needs a PostgreSQL database"
        )
    try:
        from backstay.dispatch.address import take_prefix
        from backstay.dispatch.redis_dispatch import RedisDispatch
    except ImportError as error:
        raise InvalidSettings(
            f"dispatch through {hide_password(redis)} needs a package that is not installed: "
            "pip install 'backstay[redis]'"
        ) from error
    address, prefix = take_prefix(redis, f"backstay:{urlsplit(url).path.rpartition('/')[2] or 'jobs'}:")
    return RedisDispatch(address, prefix, fair, emit=log_event, env=env)


def open_wakeups(carrier: str, url: str, env: Env) -> Wakeups:
    """What carries hints behind a URL, for those who use the same database; nothing is connected yet."""
    name = f"backstay:{urlsplit(url).path.rpartition('/')[2] or 'jobs'}"
    try:
        if carrier.startswith("redis"):
            from backstay.wakeups.redis import RedisWakeups

            return RedisWakeups(carrier, name, env)
        from backstay.wakeups.rabbitmq import RabbitWakeups
    except ImportError as error:
        extra = "redis" if carrier.startswith("redis") else "rabbitmq"
        raise InvalidSettings(
            f"hints through {hide_password(carrier)} need a package that is not installed: "
            f"pip install 'backstay[{extra}]'"
        ) from error
    return RabbitWakeups(carrier, name, env)
