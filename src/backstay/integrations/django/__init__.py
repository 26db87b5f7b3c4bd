"""Where does a Django project keep its jobs?

In the project's own database, so that jobs are part of its transactions: inside `transaction.atomic()` every enqueue
joins the block without being asked, and workers are told after the commit.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from backstay.errors import InvalidSettings

OPTIONS = frozenset({"sslmode", "sslcert", "sslkey", "sslrootcert", "passfile"})


def setup() -> None:
    """Set Django up by DJANGO_SETTINGS_MODULE, unless that is done or under way.

    For the module that makes the application: workers import it first, and `AppConfig.ready` may import it, too.
    """
    import django
    from django.apps import apps

    if not apps.ready and not apps.loading:
        django.setup()


def database_url(alias: str = "default") -> str:
    """The URL of a database in Django's settings, for `Backstay(database_url())`.

    Raises InvalidSettings for an engine other than PostgreSQL and SQLite.
    """
    from django.db import connections

    connection = connections[alias]
    match connection.vendor:
        case "sqlite":
            return _sqlite_url(str(connection.settings_dict["NAME"]))
        case "postgresql":
            return _postgres_url(connection.settings_dict)
        case vendor:
            raise InvalidSettings(
                f"Django's database {alias!r} is {vendor}: jobs are stored on PostgreSQL or SQLite"
            )


def _sqlite_url(name: str) -> str:
    if name == ":memory:" or name.startswith("file:"):
        raise InvalidSettings(
            f"Django's database is {name}, which no second connection can open: give it a file of its own"
        )
    return f"sqlite:///{quote(str(Path(name).absolute()))}"


def _postgres_url(settings: dict[str, Any]) -> str:
    options = settings.get("OPTIONS", {})
    if not settings.get("NAME"):
        raise InvalidSettings("Django's database has no NAME: a service file cannot be written as a URL")
    query = {name: options[name] for name in sorted(OPTIONS & set(options))}
    host = str(settings.get("HOST") or "")
    if not host or host.startswith("/"):
        # The folder of a local socket cannot stand before the slash.
        query["host"], host = host or "/var/run/postgresql", ""
    user, password = (quote(str(settings.get(name) or ""), safe="") for name in ("USER", "PASSWORD"))
    who = f"{user}:{password}@" if password else f"{user}@" if user else ""
    port = f":{settings['PORT']}" if settings.get("PORT") and host else ""
    if settings.get("PORT") and not host:
        query["port"] = str(settings["PORT"])
    return f"postgresql://{who}{host}{port}/{quote(str(settings['NAME']), safe='')}" + (
        f"?{urlencode(query)}" if query else ""
    )
