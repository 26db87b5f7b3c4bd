"""What does a client see when the network or the server behind it fails?

The proxy runs in a thread of the test or demo, so that its mode can be changed and its log be read directly; the
server behind it stays a separate process.
"""

import contextlib
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl, urlsplit

_CHUNK = 65_536
_LONGEST_HEAD = 65_536
_STATUS_END = len("HTTP/1.1 200")


class Fault(StrEnum):
    """How a connection fails."""

    PASS = "pass"  # noqa: S105 - a mode, not a password
    """Not at all."""
    REFUSE = "refuse"
    """Nobody listens at the port."""
    RESET = "reset"
    """The connection is accepted and reset before an answer."""
    HANG = "hang"
    """The connection is accepted and never answered, until the mode changes or the proxy closes."""
    CUT = "cut"
    """The answer ends in the middle of its body."""
    LOSE_ANSWER = "lose answer"
    """The server receives and answers; the client's connection is reset instead."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer that the proxy gives itself."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """A line of the access log; status 0 means that the client got no answer."""

    method: str
    path: str
    query: dict[str, str]
    status: int
    fault: str


Mode = Fault | Answer
Rule = Callable[[str, str], Mode | None]


def access_denied() -> Answer:
    """The answer of S3 to a reader without the right."""
    body = b'<?xml version="1.0" encoding="UTF-8"?>'
    body += b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
    return Answer(403, body, (("Content-Type", "application/xml"),))


class _Once:
    """Calls a function the first time it is called: a request has one line, written before its client can know."""

    def __init__(self, call: Callable[[int], None]) -> None:
        self._call: Callable[[int], None] | None = call

    def __call__(self, status: int) -> None:
        call, self._call = self._call, None
        if call is not None:
            call(status)


class FaultProxy:
    """Passes connections to a server, or fails them as its mode says.

    ```python
    with FaultProxy.before(server.url) as proxy:
        proxy.mode = Fault.RESET            # from now on
        proxy.next_faults([Answer(503), Fault.CUT])   # for the next two connections, then the mode again
        proxy.rule = lambda method, path: access_denied() if path.startswith("/mirror") else None
        proxy.url, proxy.log
    ```
    Each HTTP connection carries one request: the proxy adds `Connection: close`.
    """

    def __init__(self, host: str, port: int, *, is_http: bool = True) -> None:
        self._target, self._is_http = (host, port), is_http
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._mode: Mode = Fault.PASS
        self._queue: deque[Mode] = deque()
        self._log: list[Request] = []
        self._open: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self._closed = False
        self.rule: Rule | None = None
        self.host, self.port = "127.0.0.1", 0

    @classmethod
    def before(cls, url: str) -> "FaultProxy":
        """A proxy in front of the HTTP server at the address."""
        parts = urlsplit(url)
        return cls(parts.hostname or "127.0.0.1", parts.port or 80)

    @property
    def url(self) -> str:
        """The proxy's own address."""
        return f"http://{self.host}:{self.port}"

    @property
    def mode(self) -> Mode:
        """What happens to connections from now on."""
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        with self._changed:
            self._mode = mode
            self._changed.notify_all()
        if mode is Fault.REFUSE:
            self._stop_listening()
        elif self._listener is None and not self._closed and self.port:
            self._listen()

    def next_faults(self, modes: Iterable[Mode]) -> None:
        """Fail the next connections in this order, then go by the mode again."""
        with self._lock:
            self._queue.extend(modes)

    @property
    def log(self) -> list[Request]:
        """The HTTP requests seen so far, in order of their end."""
        with self._lock:
            return list(self._log)

    def clear_log(self) -> None:
        """Forget the requests seen so far."""
        with self._lock:
            self._log.clear()

    def start(self) -> Self:
        """Listen on a free port."""
        self._listen()
        return self

    def close(self) -> None:
        """End all connections and listen no more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            open_now = list(self._open)
        self._stop_listening()
        for connection in open_now:
            _close(connection)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _listen(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((self.host, self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _stop_listening(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept()
            listener.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._handle, args=(client,), daemon=True).start()

    def _handle(self, client: socket.socket) -> None:
        with self._lock:
            self._open.add(client)
        try:
            self._serve_http(client) if self._is_http else self._serve_raw(client)
        except OSError:
            _reset(client)
        finally:
            with self._lock:
                self._open.discard(client)
            _close(client)

    def _serve_http(self, client: socket.socket) -> None:
        head = _read_head(client)
        if head is None:
            return
        method, target = [*head.split(b"\r\n", 1)[0].decode("latin-1").split(" "), "", ""][:2]
        path = urlsplit(target).path
        mode = self._choose(method, path)
        note = _Once(lambda status: self._note(method, target, status, mode))
        try:
            if isinstance(mode, Answer):
                note(mode.status)
                client.sendall(_render(mode))
                _drain(client)
            elif mode is Fault.HANG:
                self._wait_for_change(mode)
            elif mode is Fault.RESET:
                note(0)
                _reset(client)
            else:
                self._forward(client, _with_close(head), mode, note)
        finally:
            note(0)

    def _forward(self, client: socket.socket, head: bytes, mode: Mode, note: _Once) -> None:
        with socket.create_connection(self._target, timeout=60) as server:
            server.sendall(head)
            sender = threading.Thread(target=_copy, args=(client, server), daemon=True)
            sender.start()
            if mode is Fault.LOSE_ANSWER:
                while server.recv(_CHUNK):
                    pass
                note(0)
                _reset(client)
            elif mode is Fault.CUT:
                _cut_answer(server, client, note)
            else:
                _copy_answer(server, client, note)

    def _serve_raw(self, client: socket.socket) -> None:
        mode = self._choose("", "")
        if mode is Fault.HANG:
            self._wait_for_change(mode)
        elif mode is not Fault.PASS:
            _reset(client)
        else:
            with socket.create_connection(self._target, timeout=60) as server:
                server.settimeout(None)
                threading.Thread(target=_copy, args=(client, server), daemon=True).start()
                _copy(server, client)

    def _choose(self, method: str, path: str) -> Mode:
        ruled = self.rule(method, path) if self.rule is not None else None
        if ruled is not None:
            return ruled
        with self._lock:
            return self._queue.popleft() if self._queue else self._mode

    def _wait_for_change(self, mode: Mode) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._closed or (self._mode is not mode and not self._queue))

    def _note(self, method: str, target: str, status: int, mode: Mode) -> None:
        parts = urlsplit(target)
        name = f"answer {mode.status}" if isinstance(mode, Answer) else str(mode)
        with self._lock:
            self._log.append(
                Request(
                    method, parts.path, dict(parse_qsl(parts.query, keep_blank_values=True)), status, name
                )
            )


def _read_head(client: socket.socket) -> bytes | None:
    """The request up to and with what came along behind the empty line; None when the client only connected."""
    received = b""
    while b"\r\n\r\n" not in received:
        chunk = client.recv(_CHUNK)
        if not chunk or len(received) > _LONGEST_HEAD:
            return None
        received += chunk
    return received


def _with_close(head: bytes) -> bytes:
    lines, _, rest = head.partition(b"\r\n\r\n")
    kept = [
        line for line in lines.split(b"\r\n") if not line.lower().startswith((b"connection:", b"keep-alive:"))
    ]
    return b"\r\n".join([*kept, b"Connection: close"]) + b"\r\n\r\n" + rest


def _render(answer: Answer) -> bytes:
    headers = [*answer.headers, ("Content-Length", str(len(answer.body))), ("Connection", "close")]
    lines = [f"HTTP/1.1 {answer.status} Fault", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + answer.body


def _status(answer: bytes) -> int:
    return int(answer[9:12]) if answer[:5] == b"HTTP/" else 0


def _copy_answer(server: socket.socket, client: socket.socket, note: _Once) -> None:
    first = b""
    while len(first) < _STATUS_END and (chunk := server.recv(_CHUNK)):
        first += chunk
    note(_status(first))
    client.sendall(first)
    while chunk := server.recv(_CHUNK):
        client.sendall(chunk)


def _cut_answer(server: socket.socket, client: socket.socket, note: _Once) -> None:
    received = b""
    while chunk := server.recv(_CHUNK):
        received += chunk
    note(_status(received))
    head, _, body = received.partition(b"\r\n\r\n")
    client.sendall(head + b"\r\n\r\n" + body[: len(body) // 2])
    _reset_softly(client)


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


def _drain(client: socket.socket) -> None:
    """Read what the client still sends: closing on unread bytes would reset the answer away."""
    client.shutdown(socket.SHUT_WR)
    client.settimeout(5)
    with contextlib.suppress(OSError):
        while client.recv(_CHUNK):
            pass


def _reset_softly(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.shutdown(socket.SHUT_RDWR)


def _reset(client: socket.socket) -> None:
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        # A thread that still reads keeps the socket open, and the reset back: end its reading first.
        client.shutdown(socket.SHUT_RD)
        client.close()


def _close(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
