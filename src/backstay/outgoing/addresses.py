"""Which IP addresses may be called: pure functions over addresses, no name is looked up here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

# The registries of special-purpose addresses of IANA, and what surrounds them.
FORBIDDEN: Sequence[tuple[str, str]] = (
    ("0.0.0.0/8", "this network"),
    ("10.0.0.0/8", "private"),
    ("100.64.0.0/10", "carrier-grade NAT"),
    ("127.0.0.0/8", "loopback"),
    ("169.254.0.0/16", "link-local"),
    ("172.16.0.0/12", "private"),
    ("192.0.0.0/24", "protocol assignments"),
    ("192.0.2.0/24", "documentation"),
    ("192.31.196.0/24", "AS112"),
    ("192.52.193.0/24", "AMT"),
    ("192.88.99.0/24", "6to4 relay"),
    ("192.168.0.0/16", "private"),
    ("192.175.48.0/24", "AS112"),
    ("198.18.0.0/15", "benchmarking"),
    ("198.51.100.0/24", "documentation"),
    ("203.0.113.0/24", "documentation"),
    ("224.0.0.0/4", "multicast"),
    ("240.0.0.0/4", "reserved"),
    ("::/128", "unspecified"),
    ("::1/128", "loopback"),
    ("100::/64", "discard"),
    ("100:0:0:1::/64", "dummy prefix"),
    ("2001::/23", "protocol assignments"),
    ("2001:db8::/32", "documentation"),
    ("3fff::/20", "documentation"),
    ("5f00::/16", "segment routing"),
    ("fc00::/7", "private"),
    ("fe80::/10", "link-local"),
    ("fec0::/10", "site-local"),
    ("ff00::/8", "multicast"),
)
_FORBIDDEN = [(ip_network(network), name) for network, name in FORBIDDEN]
_GLOBAL_V6 = IPv6Network("2000::/3")
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_V4_COMPATIBLE = IPv6Network("::/96")
_V4_TRANSLATED = IPv6Network("::ffff:0:0:0/96")
_ALLOWED = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:./]+)\]|(?P<four>[0-9.]+(?:/\d+)?))(?::(?P<port>\d{1,5}))?|(?P<bare>[0-9a-fA-F:./]+)"
)
_ISATAP = (0x00005EFE, 0x02005EFE)


def refusal_of(address: Address) -> str:
    """Return why an address may not be called, or an empty text.

    IPv4 addresses inside of IPv6 ones (mapped, compatible, translated, 6to4, NAT64, ISATAP) are unwrapped.
    """
    if isinstance(address, IPv6Address):
        if address.scope_id:
            return "an address with a zone"
        embedded = _embedded(address)
        if embedded is not None:
            inside = refusal_of(embedded)
            return f"{inside} (as {address})" if inside else ""
    for network, name in _FORBIDDEN:
        if address in network:
            return name
    if isinstance(address, IPv6Address) and address not in _GLOBAL_V6:
        return "not a global address"
    return ""


def _embedded(address: IPv6Address) -> IPv4Address | None:
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if any(address in network for network in (*_NAT64, _V4_TRANSLATED)):
        return low
    if address in _V4_COMPATIBLE and number > 1:
        return low
    if (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return low
    return None


@dataclass(frozen=True)
class Allowed:
    """A target that may be called although it is not public: a network, and a port or any port."""

    network: Network
    port: int | None = None

    @classmethod
    def parse(cls, text: str) -> Allowed:
        """Read `127.0.0.1:8080`, `10.0.0.0/8`, `10.1.0.0/16:443`, `[::1]:8080` or `fd00::/8`."""
        form = _ALLOWED.fullmatch(text)
        try:
            network = ip_network((form["six"] or form["four"] or form["bare"]) if form else text)
        except ValueError as error:
            raise ValueError(
                f"cannot read {text!r} as an allowed target ({error}); write an address or network, "
                "with or without a port: 127.0.0.1:8080, 10.0.0.0/8, [::1]:8080"
            ) from None
        return cls(network, int(form["port"]) if form and form["port"] else None)

    def covers(self, address: Address, port: int) -> bool:
        """Return True if this entry allows the address at that port."""
        return (
            address.version == self.network.version and address in self.network and self.port in {None, port}
        )


def check(address: Address, port: int, allow: Iterable[Allowed] = ()) -> str:
    """Return why (address, port) may not be called, or an empty text; an allowed target always may."""
    if any(entry.covers(address, port) for entry in allow):
        return ""
    return refusal_of(address)


def parse_address(text: str) -> Address | None:
    """Read an address in its one usual spelling; None for names and for odd spellings alike."""
    try:
        return ip_address(text)
    except ValueError:
        return None
