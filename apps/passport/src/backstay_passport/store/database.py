"""The connection to the database, the same one that the jobs are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection, Engine, create_engine, event

from backstay_passport.domain.errors import InvalidInput
from backstay_passport.store.tables import SCHEMA

BUSY_SECONDS = 30


class Database:
    """Opens connections; tables are addressed alike on both databases."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.is_postgres = url.startswith(("postgresql://", "postgres://"))
        self.engine = self._engine(reading=False)
        self._reading = self.engine if self.is_postgres else self._engine(reading=True)

    @contextmanager
    def begin(self) -> Iterator[Connection]:
        """A transaction: committed at the end of the block, undone by an exception."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading: every statement sees what is committed, and nobody waits for it."""
        with self._reading.connect() as connection:
            yield (
                connection.execution_options(isolation_level="AUTOCOMMIT") if self.is_postgres else connection
            )

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection to be handed to a job's transaction."""
        with self.engine.connect() as connection:
            if not self.is_postgres:
                # Begins the transaction; a job's transaction refuses a connection that seems to be in autocommit.
                connection.exec_driver_sql("SELECT 1")
            yield connection

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()
        self._reading.dispose()

    def _engine(self, *, reading: bool) -> Engine:
        if self.is_postgres:
            url = "postgresql+psycopg://" + self.url.split("://", 1)[1]
            return create_engine(url, pool_size=10, max_overflow=20, pool_pre_ping=True)
        if not self.url.startswith("sqlite:///"):
            raise InvalidInput(
                f"no database {self.url.split(':', 1)[0]!r}; give sqlite:///file or postgresql://…"
            )
        engine = create_engine(
            self.url,
            connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False},
            execution_options={"schema_translate_map": {SCHEMA: None}},
        )
        event.listen(engine, "connect", _prepare_sqlite)
        if not reading:
            event.listen(engine, "begin", _begin_immediate)
        return engine


def _prepare_sqlite(connection: Any, _record: Any) -> None:
    # Transactions are begun by us, not guessed by the driver.
    connection.isolation_level = None
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA foreign_keys = ON")


def _begin_immediate(connection: Connection) -> None:
    # A reader that becomes a writer would be refused at once; who takes the lock first only waits.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def new_id() -> str:
    """Return a new id."""
    return str(uuid4())


def now_text() -> str:
    """Return the present time as it is stored and hashed."""
    return as_text(datetime.now(UTC))


def as_text(moment: datetime) -> str:
    """Return a moment as it is stored and hashed; such texts are ordered like their moments."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
