"""Recognises a caller's transaction, sees that it is in the right database, and stores jobs in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol

from backstay.attempt.transaction import finished, joined_here
from backstay.errors import InvalidSettings, WrongDatabase
from backstay.model.flows import NewFlow, with_found
from backstay.model.job import JobId, NewJob, Stored
from backstay.stores.caller_transaction import (
    asyncpg_driver,
    django_driver,
    psycopg_driver,
    sqlalchemy_driver,
    sqlite3_driver,
)
from backstay.stores.caller_transaction import backstay_driver as own
from backstay.stores.caller_transaction.django_driver import Block
from backstay.stores.caller_transaction.sessions import SUPPORTED, Announce, Opener, Session
from backstay.stores.database.interface import Lane
from backstay.stores.dependents import follow
from backstay.stores.flows import check, tie

DRIVERS = (
    own.recognise,
    asyncpg_driver.recognise,
    sqlalchemy_driver.recognise,
    psycopg_driver.recognise,
    sqlite3_driver.recognise,
    django_driver.recognise,
)
Ask = Callable[[], Any]
Routes = Sequence[tuple[str, str]]


class TargetDatabase(Protocol):
    """The database that jobs belong in."""

    engine: str
    key: str
    """What tells this database from others."""
    carries_routes: bool

    async def prepare(self) -> None: ...

    async def ask(self) -> Any: ...

    async def refuse_other(
        self, session: Session, ask: Callable[[], Awaitable[Any]] | None = None
    ) -> None: ...

    async def is_home(self, session: Session, ask: Callable[[], Awaitable[Any]] | None = None) -> bool: ...

    async def store(
        self, session: Session, jobs: Sequence[NewJob], routes: Routes, announce: Announce | None
    ) -> list[Stored]: ...

    def lane(self, session: Session) -> Lane: ...


@dataclass(frozen=True)
class Joining:
    """Stores jobs inside transactions that callers opened on one database."""

    home: TargetDatabase
    ready: Callable[[], Awaitable[None]] | None = None

    @property
    def carries_routes(self) -> bool:
        """Whether routes must be stored in the caller's transaction too."""
        return self.home.carries_routes

    async def prepare(self) -> None:
        """See that the tables are there and learn which database this is, before a transaction is touched."""
        # Migrating a file would wait for the very transaction that is to be joined.
        if self.ready is not None and not self.home.carries_routes:
            await self.ready()
        await self.home.prepare()

    async def ask(self) -> Any:
        """Learn which database jobs are stored in now."""
        return await self.home.ask()

    async def join(
        self,
        transaction: object,
        jobs: Sequence[NewJob],
        *,
        routes: Routes = (),
        announce: Announce | None = None,
    ) -> list[Stored]:
        """Store jobs in the caller's open transaction; what became of each, in the order given.

        Raises InvalidSettings for what is no transaction, when none is open or when its driver blocks; WrongDatabase
        when it is in another database; IdempotencyMismatch as an ordinary enqueue does. As after any error of
        PostgreSQL the transaction can then only be rolled back, unless the call was made inside a savepoint.
        """
        if isinstance(transaction, Block):
            inside = transaction
            stored: list[Stored] = await inside.run(
                lambda: self.join_sync(inside.connection, jobs, routes=routes, announce=announce)
            )
            return stored
        way = self._awaited(transaction)
        return await self._join(way, jobs, routes, announce, self.home.ask)

    async def join_flow(
        self, transaction: object, flow: NewFlow, *, routes: Routes = (), announce: Announce | None = None
    ) -> dict[JobId, JobId]:
        """Store a flow in the caller's open transaction, as `join` stores jobs."""
        if isinstance(transaction, Block):
            inside = transaction
            found: dict[JobId, JobId] = await inside.run(
                lambda: self.join_flow_sync(inside.connection, flow, routes=routes, announce=announce)
            )
            return found
        way = self._awaited(transaction)
        return found_by_key(flow, await self._join(way, flow.jobs, routes, announce, self.home.ask, flow))

    def join_flow_sync(
        self,
        transaction: object,
        flow: NewFlow,
        *,
        routes: Routes = (),
        announce: Announce | None = None,
        ask: Ask | None = None,
    ) -> dict[JobId, JobId]:
        """Do the same for a blocking driver, in this thread."""
        way = self._blocking(transaction)
        stored: list[Stored] = finished(self._join(way, flow.jobs, routes, announce, _waiting(ask), flow))
        return found_by_key(flow, stored)

    def join_sync(
        self,
        transaction: object,
        jobs: Sequence[NewJob],
        *,
        routes: Routes = (),
        announce: Announce | None = None,
        ask: Ask | None = None,
    ) -> list[Stored]:
        """Do the same for a blocking driver, in this thread; `ask` calls `home.ask` where an event loop runs."""
        way = self._blocking(transaction)
        return finished(self._join(way, jobs, routes, announce, _waiting(ask)))

    def ambient(self) -> Awaitable[object | None] | None:
        """Look for an open block that coroutines like the caller are part of; None at once where none can be."""
        if (joined := joined_here(self.home.key)) is not None:
            return _found(joined)
        if not django_driver.is_in_use():
            return None
        run = django_driver.way_to_blocks()
        return None if run is None else self._block(run)

    def ambient_sync(self, ask: Ask) -> object | None:
        """The connection whose block is open in this thread, on our database."""
        if (joined := joined_here(self.home.key)) is not None:
            return joined
        if not django_driver.is_in_use():
            return None
        found: object | None = finished(self._find(_waiting(ask)))
        return found

    @staticmethod
    def _awaited(transaction: object) -> Opener:
        way = way_into(transaction)
        if way.is_sync:
            raise InvalidSettings(
                f"{name_of(transaction)} blocks, so it cannot be used from a coroutine: call enqueue_sync where no "
                "event loop runs, or open the transaction with an asynchronous driver"
            )
        return way

    @staticmethod
    def _blocking(transaction: object) -> Opener:
        way = way_into(transaction)
        if not way.is_sync:
            raise InvalidSettings(
                f"{name_of(transaction)} must be awaited, so a blocking call cannot use it: "
                "'await handler.enqueue(…)' on its event loop, or open the transaction with a blocking driver"
            )
        return way

    async def _block(self, run: django_driver.Run) -> Block | None:
        await self.prepare()
        # A task may outlive the thread that it was started for; there is no block then.
        with suppress(RuntimeError):
            connection = await run(lambda: finished(self._find(_waiting(None))))
            return None if connection is None else Block(connection, run)
        return None

    async def _find(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        for session in django_driver.open_blocks():
            if session.engine == self.home.engine and await self.home.is_home(session, ask):
                return session.connection
        return None

    async def _join(
        self,
        way: Opener,
        jobs: Sequence[NewJob],
        routes: Routes,
        announce: Announce | None,
        ask: Callable[[], Awaitable[Any]],
        flow: NewFlow | None = None,
    ) -> list[Stored]:
        session = await way.open()
        if session.engine != self.home.engine:
            raise WrongDatabase(
                f"the transaction is on {session.engine}, but jobs are stored on {self.home.engine}: "
                "open the transaction on the same database, or enqueue without it"
            )
        if not jobs:
            return []
        if not way.is_ours:
            await self.home.refuse_other(session, ask)
        if flow is None:
            return await self.home.store(session, jobs, routes, announce)
        # Refused before anything is stored: the caller may go on with the transaction.
        lane = self.home.lane(session)
        whose = await check(lane, flow)
        stored = await self.home.store(session, jobs, routes, announce)
        rest = with_found(flow, found_by_key(flow, stored))
        if rest.jobs:
            await tie(lane, rest, *whose)
            await follow(lane, rest.outside)
        return stored


def found_by_key(flow: NewFlow, stored: Sequence[Stored]) -> dict[JobId, JobId]:
    """Which jobs of a flow were there already, under which ids."""
    return {job.id: one.id for job, one in zip(flow.jobs, stored, strict=True) if one.id != job.id}


async def _found(joined: object) -> object:
    return joined


def way_into(transaction: object) -> Opener:
    """How to reach a transaction; raises InvalidSettings for an object that is not one."""
    for recognise in DRIVERS:
        way = recognise(transaction)
        if way is not None:
            return way
    raise InvalidSettings(f"cannot enqueue inside a {name_of(transaction)}: hand in {SUPPORTED}")


def name_of(transaction: object) -> str:
    """What it is, for a message."""
    kind = type(transaction)
    return f"{kind.__module__}.{kind.__qualname__}"


def _waiting(ask: Ask | None) -> Callable[[], Awaitable[Any]]:
    async def asked() -> Any:
        if ask is None:
            raise WrongDatabase("the transaction is in another database than the jobs")
        return ask()

    return asked
