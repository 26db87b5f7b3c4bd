"""The connections of one process to one SQLite file: a writer thread, a reader thread, and the locks around them."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from backstay.errors import InvalidSettings, StoreBusy
from backstay.stores.database.time_limits import TimeLimits

Work = Callable[[sqlite3.Connection], Any]
NETWORK_FILE_SYSTEMS = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afs", "ceph", "glusterfs"}
)
BUSY_SECONDS = 5.0

_files: dict[tuple[int, str], SqliteFile] = {}
_files_lock = threading.Lock()


def open_file(path: str) -> SqliteFile:
    """The process's connections to this file; every caller gets the same ones.

    After a fork the child gets its own: connections must not cross a fork, not even to be closed.
    """
    name = path if path == ":memory:" else str(Path(path).absolute())
    key = (os.getpid(), name)
    with _files_lock:
        if key not in _files:
            _files[key] = SqliteFile(name)
        file = _files[key]
        file.users += 1
        return file


class SqliteFile:
    """Runs work on the writer or the reader, each in its own thread, whichever event loop asks."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.in_memory = path == ":memory:"
        self.users = 0
        self._is_writing = False
        self.turnstile, self.time_limits = Turnstile(), TimeLimits(time.monotonic)
        self._lock = None if self.in_memory else FileLock(path + "-lock")
        if not self.in_memory:
            refuse_network_file_system(path)
        self._writer = ConnectionThread("backstay-sqlite-writer", self._connect)
        # A database in memory belongs to one connection; there the writer reads as well.
        self._reader = (
            self._writer if self.in_memory else ConnectionThread("backstay-sqlite-reader", self._connect)
        )

    def read(self, work: Work) -> Future[Any]:
        """Run work that changes nothing."""
        if self.in_memory:
            return self.write(work)
        return self._reader.submit(work)

    def write(self, work: Work) -> Future[Any]:
        """Run work in a transaction of its own, when it is this writer's turn."""

        def alone(connection: sqlite3.Connection) -> Any:
            self._begin(connection)
            try:
                result = work(connection)
            except BaseException:
                self._end(connection, "ROLLBACK")
                raise
            self._end(connection, "COMMIT")
            return result

        outcome: Future[Any] = Future()
        ticket = self.turnstile.enter()

        def finished(done: Future[Any]) -> None:
            self.turnstile.leave(ticket)
            _hand_over(done, outcome)

        def go(_: Future[None]) -> None:
            running = self._writer.submit(alone)
            running.add_done_callback(finished)

        ticket.add_done_callback(go)
        return outcome

    def begin(self) -> Future[Any]:
        """Open a transaction; the caller holds the turnstile."""
        return self._writer.submit(self._begin)

    def begin_with(self, work: Work) -> Future[Any]:
        """Open a transaction with its first work; the caller holds the turnstile."""

        def first(connection: sqlite3.Connection) -> Any:
            self._begin(connection)
            return work(connection)

        return self._writer.submit(first)

    def in_transaction(self, work: Work) -> Future[Any]:
        """Run work inside the open transaction."""
        return self._writer.submit(work)

    def commit(self) -> Future[Any]:
        """Make the open transaction durable."""
        return self._writer.submit(lambda connection: self._end(connection, "COMMIT"))

    def commit_if(self, work: Work, is_last: Callable[[Any], bool]) -> Future[tuple[Any, bool]]:
        """Run work inside the open transaction, and commit at once if nothing else follows; tells whether it did."""

        def last(connection: sqlite3.Connection) -> tuple[Any, bool]:
            result = work(connection)
            ends = is_last(result)
            if ends:
                self._end(connection, "COMMIT")
            return result, ends

        return self._writer.submit(last)

    def rollback(self) -> Future[Any]:
        """Undo the open transaction; if it could not be opened, do nothing."""
        return self._writer.submit(lambda connection: self._end(connection, "ROLLBACK"))

    def data_version(self) -> Future[Any]:
        """A number that changes when any other connection has committed."""
        return self._reader.submit(lambda connection: connection.execute("PRAGMA data_version").fetchone()[0])

    def release(self) -> None:
        """Give the file up; the last user closes it."""
        with _files_lock:
            self.users -= 1
            if self.users > 0:
                return
            _files.pop((os.getpid(), self.path), None)
        self._writer.close(self._close)
        if self._reader is not self._writer:
            self._reader.close(self._close)

    def _connect(self) -> sqlite3.Connection:
        if not self.in_memory:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(
            self.path, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        # Asked first: our own writer may be in a transaction, whose owner waits for what is to be read here.
        if connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            with self._locked():
                connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -16000")
        return connection

    def _close(self, connection: sqlite3.Connection) -> None:
        # The last connection to close moves the log into the file, which must not meet another process's writer.
        with self._locked():
            connection.close()

    def _begin(self, connection: sqlite3.Connection) -> None:
        if self._lock is not None:
            self._lock.acquire()
        self._is_writing = True
        try:
            connection.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._let_others_write()
            raise

    def _end(self, connection: sqlite3.Connection, how: str) -> None:
        """End the open transaction, also one that SQLite has ended itself; one that never began stays so."""
        if not self._is_writing:
            return
        try:
            if connection.in_transaction:
                connection.execute(how)
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            self._let_others_write()

    def _let_others_write(self) -> None:
        self._is_writing = False
        if self._lock is not None:
            self._lock.release()

    def _locked(self) -> FileLock | _NoLock:
        return self._lock if self._lock is not None else _NoLock()


def _hand_over(done: Future[Any], outcome: Future[Any]) -> None:
    error = done.exception()
    # The one who waited may have given up meanwhile; the work is done all the same.
    with suppress(InvalidStateError):
        if error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(done.result())


class ConnectionThread:
    """A connection that lives in one thread and does one thing at a time."""

    def __init__(self, name: str, connect: Callable[[], sqlite3.Connection]) -> None:
        self._name, self._connect = name, connect
        self._queue: SimpleQueue[tuple[Work, Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._starting = threading.Lock()

    def submit(self, work: Work) -> Future[Any]:
        """Do the work with the connection, opening it first if need be."""
        future: Future[Any] = Future()
        self._queue.put((work, future))
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
        return future

    def close(self, close: Callable[[sqlite3.Connection], None]) -> None:
        """Finish what was submitted, then close the connection."""
        if self._thread is None:
            return
        closing = self.submit(lambda connection: close(connection))
        self._queue.put(None)
        self._thread.join(timeout=BUSY_SECONDS * 2)
        self._thread = self._connection = None
        if closing.done():
            closing.exception()

    def _run(self) -> None:
        while (item := self._queue.get()) is not None:
            work, future = item
            if not future.set_running_or_notify_cancel():
                continue
            try:
                if self._connection is None:
                    self._connection = self._connect()
                future.set_result(work(self._connection))
            except BaseException as error:  # whatever it is, it belongs to the one who waits
                future.set_exception(error)


class Turnstile:
    """Lets one holder in at a time, in order of arrival, across threads and event loops."""

    def __init__(self) -> None:
        self._waiting: deque[Future[None]] = deque()
        self._inside: Future[None] | None = None
        self._lock = threading.Lock()

    def enter(self) -> Future[None]:
        """A ticket that is done when it is the caller's turn."""
        ticket: Future[None] = Future()
        with self._lock:
            if self._inside is not None:
                self._waiting.append(ticket)
                return ticket
            self._inside = ticket
        ticket.set_result(None)
        return ticket

    def leave(self, ticket: Future[None]) -> None:
        """Give the turn, or the place in the line, up."""
        following: Future[None] | None = None
        with self._lock:
            if self._inside is not ticket:
                with suppress(ValueError):
                    self._waiting.remove(ticket)
                return
            while self._waiting and following is None:
                candidate = self._waiting.popleft()
                if candidate.set_running_or_notify_cancel():
                    following = candidate
            self._inside = following
        if following is not None:
            following.set_result(None)


class FileLock:
    """A lock beside the database file that keeps writers of other processes out."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._thread_lock = threading.Lock()

    def acquire(self) -> None:
        """Wait for the lock; raises StoreBusy after five seconds."""
        if not self._thread_lock.acquire(timeout=BUSY_SECONDS):
            raise StoreBusy(f"this process held {self._path} for more than {BUSY_SECONDS:g} s")
        try:
            if self._descriptor is None:
                Path(self._path).parent.mkdir(parents=True, exist_ok=True)
                self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            self._wait(self._descriptor)
        except BaseException:
            self._thread_lock.release()
            raise

    def release(self) -> None:
        """Let the next one in."""
        assert self._descriptor is not None
        fcntl.flock(self._descriptor, fcntl.LOCK_UN)
        self._thread_lock.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _wait(self, descriptor: int) -> None:
        give_up, pause = time.monotonic() + BUSY_SECONDS, 0.0002
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except OSError as error:
                if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                    raise
            if time.monotonic() > give_up:
                raise StoreBusy(f"another process held {self._path} for more than {BUSY_SECONDS:g} s")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.005)


class _NoLock:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


def refuse_network_file_system(path: str) -> None:
    """Raise InvalidSettings where SQLite's locks cannot be trusted."""
    mounts = Path("/proc/mounts")
    if not mounts.exists():
        return
    place, best, kind = str(Path(path).absolute()), "", ""
    for line in mounts.read_text().splitlines():
        _, mount, file_system, *_ = line.split()
        if (place + "/").startswith(mount.rstrip("/") + "/") and len(mount) > len(best):
            best, kind = mount, file_system
    if kind in NETWORK_FILE_SYSTEMS:
        raise InvalidSettings(
            f"{path} is on a network file system ({kind}), where SQLite cannot lock safely: "
            "put the file on a local disk, or use PostgreSQL"
        )
