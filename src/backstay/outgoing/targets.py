"""Reading an address (URL) so that everybody reads the same host out of it: what is doubtful is refused."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from backstay.outgoing.addresses import Address, parse_address
from backstay.outgoing.errors import TargetRefused

LONGEST_URL = 2048
PORTS = {"http": 80, "https": 443}
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_NUMERIC = re.compile(r"\d+|0[xX][0-9a-fA-F]*")
_REST = re.compile(r"[!-~]*")


@dataclass(frozen=True)
class Target:
    """Where a request goes: host as a name or an address, port, and the rest of the URL."""

    scheme: str
    host: str
    port: int
    path: str
    address: Address | None
    """The address if the host was written as one."""

    @property
    def host_header(self) -> str:
        """The value of `Host`: without the usual port, an IPv6 address in brackets."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    def url_at(self, address: Address) -> str:
        """Return the URL with the host replaced by a checked address."""
        host = f"[{address}]" if address.version == 6 else str(address)
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_target(url: str) -> Target:
    """Read a URL for an outgoing request; raises `TargetRefused` for anything but a plain http or https one.

    Refused: other schemes, user names, control characters, blanks, backslashes, percent signs or non-ASCII
    letters in the host, addresses in odd notations (`0x7f.1`, `2130706433`, `0177.0.0.1`), zones, port 0.
    """
    if len(url) > LONGEST_URL:
        raise TargetRefused(url[:80], f"the URL has more than {LONGEST_URL} characters")
    if any(letter.isspace() or letter == "\\" or unicodedata.category(letter)[0] == "C" for letter in url):
        raise TargetRefused(url[:80], "the URL holds a blank, a backslash or a control character")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise TargetRefused(url[:80], "the URL cannot be read") from None
    _check_parts(parts, host, port)
    name, address = _host(host, bracketed="[" in parts.netloc)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not _REST.fullmatch(path):
        raise TargetRefused(name, "path and query must be ASCII; percent-encode other letters")
    return Target(parts.scheme, name, port if port is not None else PORTS[parts.scheme], path, address)


def _check_parts(parts: SplitResult, host: str, port: int | None) -> None:
    if parts.scheme not in PORTS:
        raise TargetRefused(host, f"the scheme {parts.scheme[:20]!r} is neither http nor https")
    if "@" in parts.netloc:
        raise TargetRefused(host, "the URL holds a user name")
    if not host:
        raise TargetRefused(host, "the URL names no host")
    if port == 0 or parts.netloc.endswith(":"):
        raise TargetRefused(host, "the port is missing or 0")


def _host(host: str, *, bracketed: bool) -> tuple[str, Address | None]:
    """Return the host as it will be looked up, and its address if it is one."""
    if bracketed:
        address = parse_address(host)
        if address is None or address.version != 6 or "%" in host:
            raise TargetRefused(host, "what stands in brackets is not an IPv6 address")
        return str(address), address
    name = host.lower().removesuffix(".")
    if not name.isascii():
        name = _ascii_name(name)
    address = parse_address(name)
    if address is not None:
        return str(address), address
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        # WHATWG reads every host whose last label is a number as an IPv4 address.
        raise TargetRefused(host, "the address is written in an odd notation; write four decimal numbers")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise TargetRefused(host, "the host is not a valid name")
    return name, None


def _ascii_name(name: str) -> str:
    """Encode an international name; one that only looks international (full-width digits and dots) is refused."""
    normal = unicodedata.normalize("NFKC", name)
    if normal.isascii():
        raise TargetRefused(name, "the host is written with letters that stand for others")
    try:
        return normal.encode("idna").decode("ascii").lower()
    except UnicodeError:
        raise TargetRefused(name, "the host is not a valid name") from None
