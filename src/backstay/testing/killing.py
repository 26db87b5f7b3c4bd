"""Kills the process at a chosen statement, as a power cut would, whichever driver sends it."""

from __future__ import annotations

import gc
import importlib
import os
import re
import signal
import sqlite3
import sqlite3.dbapi2
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from typing import Any
from unittest import mock

Note = Callable[[object], None]


class Statements:
    """What has been sent since the block began."""

    def __init__(self, kill_at: int | None, matching: str | None) -> None:
        self._kill_at = kill_at
        self._matching = re.compile(matching or "", re.IGNORECASE | re.DOTALL)
        self._counting = threading.Lock()
        self.sent: list[str] = []
        """The statements, as the driver was given them, without those that were not counted."""

    @property
    def count(self) -> int:
        """How many statements were counted."""
        return len(self.sent)

    def note(self, sql: object) -> None:
        """Count a statement that is about to be sent, and kill the process if it is the one."""
        text = sql.decode(errors="replace") if isinstance(sql, bytes) else str(sql)
        if not self._matching.search(text):
            return
        with self._counting:
            self.sent.append(text)
            if self.count == self._kill_at:
                # Not an exception: nothing may be tidied up, no connection closed, no transaction rolled back.
                os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def kill_at_statement(n: int | None, *, matching: str | None = None) -> Iterator[Statements]:
    """Kill this process (SIGKILL) when the n-th statement of the block is about to be sent.

    Statements of the whole process count, `BEGIN` and `COMMIT` among them, sent by asyncpg, psycopg or sqlite3, also
    through SQLAlchemy. `matching` is a regular expression: only statements in which it is found count. None for `n`
    only counts. Use it in a process of its own, once for each statement:

    >>> with kill_at_statement(int(sys.argv[1])): asyncio.run(main())

    The last one is found when the process is not killed any more.
    """
    if n is not None and n < 1:
        raise ValueError(f"there is no statement {n}: they are counted from 1")
    statements = Statements(n, matching)
    with ExitStack() as stack:
        for watch in (_watch_sqlite3, _watch_asyncpg, _watch_psycopg):
            stack.enter_context(watch(statements.note))
        yield statements


@contextmanager
def _watch_sqlite3(note: Note) -> Iterator[None]:
    plain = sqlite3.connect

    @wraps(plain)
    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = plain(*args, **options)
        connection.set_trace_callback(note)
        return connection

    known = [found for found in gc.get_objects() if type(found) is sqlite3.Connection]
    for connection in known:
        # One that is closed, or belongs to another thread, sends nothing for us.
        with suppress(sqlite3.ProgrammingError):
            connection.set_trace_callback(note)
    try:
        with (
            mock.patch.object(sqlite3, "connect", connect),
            mock.patch.object(sqlite3.dbapi2, "connect", connect),
        ):
            yield
    finally:
        for found in gc.get_objects():
            # By its type: some objects raise when they are asked for their class, Django's unread settings among them.
            if issubclass(type(found), sqlite3.Connection):
                with suppress(sqlite3.ProgrammingError):
                    found.set_trace_callback(None)


@contextmanager
def _watch_asyncpg(note: Note) -> Iterator[None]:
    protocol = _found("asyncpg.protocol", "Protocol")
    with ExitStack() as stack:
        for name in ("query", "bind_execute", "bind_execute_many"):
            if protocol is not None:
                stack.enter_context(mock.patch.object(protocol, name, _noting(getattr(protocol, name), note)))
        yield


def _noting(send: Callable[..., Any], note: Note) -> Callable[..., Any]:
    @wraps(send)
    def noted(self: Any, *args: Any, **options: Any) -> Any:
        statement = args[0] if args else options.get("state", options.get("query"))
        note(getattr(statement, "query", statement))
        return send(self, *args, **options)

    return noted


@contextmanager
def _watch_psycopg(note: Note) -> Iterator[None]:
    connection = _found("psycopg", "Connection")
    with ExitStack() as stack:
        if connection is not None:
            base = next(cls for cls in connection.__mro__ if "_exec_command" in vars(cls))
            stack.enter_context(
                mock.patch.object(base, "_exec_command", _noting_command(base._exec_command, note))
            )
            cursor = _found("psycopg", "Cursor")
            below = next(cls for cls in cursor.__mro__ if "_execute_gen" in vars(cls))
            for name in ("_execute_gen", "_executemany_gen_pipeline", "_executemany_gen_no_pipeline"):
                stack.enter_context(
                    mock.patch.object(below, name, _noting_command(getattr(below, name), note))
                )
        yield


def _noting_command(send: Callable[..., Any], note: Note) -> Callable[..., Any]:
    @wraps(send)
    def noted(self: Any, command: Any, *args: Any, **options: Any) -> Generator[Any, Any, Any]:
        note(command)
        return (yield from send(self, command, *args, **options))

    return noted


def _found(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError:
        return None
