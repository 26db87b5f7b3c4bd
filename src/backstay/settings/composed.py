"""URLs that other programs' environments hold, whole or in parts: POSTGRES_HOST, …, REDIS_URL, REDIS_HOST, …"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from backstay.errors import InvalidSettings

POSTGRES = ("POSTGRES_HOST", "POSTGRES_DB", "POSTGRES_USER", "POSTGRES_PASSWORD", "POSTGRES_PORT")
REDIS_URL = "REDIS_URL"
REDIS = ("REDIS_HOST", "REDIS_PORT", "REDIS_USER", "REDIS_PASSWORD", "REDIS_DB")


def composed(setting: str, environment: Mapping[str, str]) -> tuple[str, str] | None:
    """The URL for a setting and the variables that it was made of; None unless all that matters is set.

    For `url` these are host, database and user; for `wakeups` it is REDIS_URL, or else the host.
    """
    match setting:
        case "url":
            return _postgres(environment)
        case "wakeups":
            return _redis(environment)
        case _:
            return None


def _postgres(environment: Mapping[str, str]) -> tuple[str, str] | None:
    host, database, user, password, port = (environment.get(name, "").strip() for name in POSTGRES)
    _check_port("POSTGRES_PORT", port)
    if not (host and database and user):
        return None
    place = f"{_login(user, password)}{host}:{port or 5432}"
    return f"postgresql://{place}/{quote(database, safe='')}", ", ".join(POSTGRES[:3])


def _redis(environment: Mapping[str, str]) -> tuple[str, str] | None:
    whole = environment.get(REDIS_URL, "").strip()
    if whole:
        return whole, REDIS_URL
    host, port, user, password, database = (environment.get(name, "").strip() for name in REDIS)
    _check_port("REDIS_PORT", port)
    if not host:
        return None
    login = _login(user, password) if user or password else ""
    return f"redis://{login}{host}:{port or 6379}/{quote(database or '0', safe='')}", REDIS[0]


def _login(user: str, password: str) -> str:
    secret = f":{quote(password, safe='')}" if password else ""
    return f"{quote(user, safe='')}{secret}@"


def _check_port(variable: str, port: str) -> None:
    if port and not (port.isdecimal() and 0 < int(port) < 65536):
        raise InvalidSettings(f"{variable} cannot be {port!r}: it needs a whole number from 1 to 65535")
