"""Sends HTTP requests to addresses that other people chose, without being led into our own network."""

from __future__ import annotations

import asyncio
import email.utils
import re
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import TracebackType

import httpx

from backstay.outgoing.addresses import Address, Allowed, check, parse_address
from backstay.outgoing.clock import monotonic, utc_now
from backstay.outgoing.errors import AnswerLater, AnswerRefused, SendFailed, TargetRefused
from backstay.outgoing.resolver import Resolver, SystemResolver
from backstay.outgoing.targets import Target, parse_target

KEPT_BYTES = 64 * 1024
LARGEST_BODY = 8 * 1024 * 1024
LONGEST_WAIT = timedelta(days=1)
LATER_STATUSES = frozenset({408, 425, 429})
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_HEADER_VALUE = re.compile(r"[\t -~]*")
OWN_HEADERS = frozenset({"host", "content-length", "transfer-encoding", "connection", "proxy-authorization"})


@dataclass(frozen=True)
class Answer:
    """What the receiver answered: at most the first 64 KiB of the body are kept."""

    host: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool
    took: timedelta
    address: str
    """The address that was connected to."""

    @property
    def ok(self) -> bool:
        """True for a status 2xx."""
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> timedelta | None:
        """How long the receiver asks to wait, at most a day."""
        return _retry_after(self.headers.get("retry-after", ""))

    def raise_for_status(self) -> Answer:
        """Return the answer if it is 2xx, else raise `AnswerRefused` or `AnswerLater`."""
        if self.ok:
            return self
        if self.status >= 500 or self.status in LATER_STATUSES:
            raise AnswerLater(self.host, self.status, self.retry_after)
        raise AnswerRefused(self.host, self.status)


class Sender:
    """Sends requests to public addresses only.

    ```python
    async with Sender() as sender:
        answer = await sender.post(url, body, headers=signature.headers(…))
        answer.raise_for_status()
    ```

    The name is looked up once, every address of it is checked, and the connection goes to the checked address:
    a name that changes its address in between changes nothing. TLS is verified against the name. Redirects are
    answers, proxies of the environment are not used. `allow` opens private targets, `["10.2.0.0/16:443"]`, which
    may also use plain http; otherwise http needs `plain_http=True`.
    """

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        plain_http: bool = False,
        timeout: timedelta = timedelta(seconds=10),
        kept_bytes: int = KEPT_BYTES,
        user_agent: str = "backstay",
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allow = tuple(Allowed.parse(entry) for entry in allow)
        self._plain_http = plain_http
        self._timeout = timeout.total_seconds()
        self._kept = kept_bytes
        self._resolver = resolver or SystemResolver()
        # Nothing is kept open: a connection pool is keyed by address, and two names may share one.
        self._client = httpx.AsyncClient(
            verify=tls or ssl.create_default_context(),
            follow_redirects=False,
            trust_env=False,
            timeout=httpx.Timeout(self._timeout),
            limits=httpx.Limits(max_keepalive_connections=0),
            headers={"User-Agent": user_agent, "Accept-Encoding": "identity"},
        )

    async def __aenter__(self) -> Sender:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close what is open."""
        await self._client.aclose()

    async def post(self, url: str, body: bytes, *, headers: Mapping[str, str] | None = None) -> Answer:
        """POST a body; see `send`."""
        return await self.send("POST", url, body=body, headers=headers)

    async def send(
        self, method: str, url: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send one request and return the answer, whatever its status.

        Raises `TargetRefused` before anything is sent, `SendFailed` if no answer came in time.
        """
        if len(body) > LARGEST_BODY:
            raise ValueError(f"a body of {len(body)} bytes is larger than {LARGEST_BODY}")
        target = parse_target(url)
        started = monotonic()
        try:
            async with asyncio.timeout(self._timeout):
                address = await self._checked_address(target)
                request = self._request(method, target, address, body, headers or {})
                return await self._exchange(request, target, address, started)
        except TimeoutError:
            raise SendFailed(target.host, f"no answer within {self._timeout:g} seconds") from None
        except (httpx.TransportError, ssl.SSLError, OSError) as error:
            raise SendFailed(target.host, f"{type(error).__name__}: {error}") from error

    async def _checked_address(self, target: Target) -> Address:
        """Look the host up and check every answer; one forbidden address refuses the name."""
        if target.address is not None:
            found = [target.address]
        else:
            texts = await self._resolver.addresses(target.host, target.port)
            found = [_address(target, text) for text in texts]
        if not found:
            raise SendFailed(target.host, "the name has no address")
        for address in found:
            reason = check(address, target.port, self._allow)
            if reason:
                raise TargetRefused(target.host, f"it leads to {address}, which is {reason}")
        self._check_scheme(target, found[0])
        return found[0]

    def _check_scheme(self, target: Target, address: Address) -> None:
        named = any(entry.covers(address, target.port) for entry in self._allow)
        if target.scheme == "http" and not named and not self._plain_http:
            raise TargetRefused(target.host, "plain http is not allowed; use https")

    def _request(
        self, method: str, target: Target, address: Address, body: bytes, headers: Mapping[str, str]
    ) -> httpx.Request:
        for name, value in headers.items():
            if name.lower() in OWN_HEADERS:
                raise ValueError(f"the header {name} is set by the sender itself")
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
                raise ValueError(f"the header {name[:40]!r} holds letters that a header must not have")
        return self._client.build_request(
            method,
            target.url_at(address),
            content=body,
            headers={**headers, "Host": target.host_header},
            extensions={"sni_hostname": target.host},
        )

    async def _exchange(
        self, request: httpx.Request, target: Target, address: Address, started: float
    ) -> Answer:
        response = await self._client.send(request, stream=True)
        try:
            body, truncated = await self._read(response)
        finally:
            await response.aclose()
        return Answer(
            host=target.host,
            status=response.status_code,
            headers={name.lower(): value for name, value in response.headers.items()},
            body=body,
            truncated=truncated,
            took=timedelta(seconds=monotonic() - started),
            address=str(address),
        )

    async def _read(self, response: httpx.Response) -> tuple[bytes, bool]:
        """Keep the first bytes as they came: nothing is unpacked, so nothing can grow."""
        kept = bytearray()
        async for part in response.aiter_raw():
            kept += part
            if len(kept) > self._kept:
                return bytes(kept[: self._kept]), True
        return bytes(kept), False


def _address(target: Target, text: str) -> Address:
    address = parse_address(text)
    if address is None:
        raise TargetRefused(target.host, f"its address {text[:60]!r} cannot be read")
    return address


def _retry_after(text: str) -> timedelta | None:
    """Read `Retry-After`: seconds, or a date."""
    if text.isascii() and text.isdigit() and len(text) < 10:
        return min(timedelta(seconds=int(text)), LONGEST_WAIT)
    try:
        at = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    wait = _aware(at) - utc_now()
    return min(max(wait, timedelta()), LONGEST_WAIT)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
