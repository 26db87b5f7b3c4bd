"""Whether anybody makes sure that the database at the other end of the link is the right one."""

from __future__ import annotations

import ipaddress
from urllib.parse import parse_qs, urlsplit

from backstay.client.doctor.findings import Finding, Severity

VERIFIED = ("verify-full", "verify-ca")


def unverified_link(url: str) -> list[Finding]:
    """A link to PostgreSQL on another machine whose certificate nobody checks; worse where it leaves the house."""
    parts = urlsplit(url)
    if not parts.scheme.startswith("postgres") or _is_local(parts.hostname):
        return []
    mode = parse_qs(parts.query).get("sslmode", [""])[0]
    if mode in VERIFIED:
        return []
    asked = f"sslmode={mode}" if mode else "no sslmode"
    return [
        Finding(
            code="unverified_link",
            severity=Severity.INFO if _is_in_the_house(parts.hostname) else Severity.WARNING,
            title=f"nobody checks that {parts.hostname} is the database it should be",
            detail=f"the URL says {asked}, so any server that answers there is believed, encrypted or not",
            advice="add '?sslmode=verify-full&sslrootcert=/path/to/ca.pem' to the URL",
        )
    ]


def _is_local(host: str | None) -> bool:
    if host is None or host in ("", "localhost") or host.startswith("/"):
        return True
    address = _address(host)
    return address is not None and address.is_loopback


def _is_in_the_house(host: str | None) -> bool:
    """A name without a domain, as containers have among themselves, or an address that is not routed."""
    address = _address(host or "")
    return "." not in (host or "") if address is None else address.is_private


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
