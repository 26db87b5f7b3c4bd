"""Puts the parts together: a URL becomes a database, a database becomes stores and wake-ups."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qs, unquote, urlsplit

from windlass.errors import InvalidSettings
from windlass.stores.audit import AuditStore
from windlass.stores.claims import ClaimStore
from windlass.stores.contract import Stores
from windlass.stores.database import Database, Lane
from windlass.stores.dead_letters import DeadLetterStore
from windlass.stores.enqueuing import EnqueuingStore
from windlass.stores.jobs import JobStore
from windlass.stores.kinds import KindStore
from windlass.stores.postgres import Postgres
from windlass.stores.queues import QueueStore
from windlass.stores.sqlite import Sqlite
from windlass.stores.sqlite_file import open_file
from windlass.stores.upkeep import UpkeepStore
from windlass.stores.workers import WorkerStore

DEFAULT_URL = "sqlite:///windlass.db"


def open_database(url: str, *, clock: Callable[[], datetime] | None = None) -> Database:
    """The database behind a URL; nothing is connected yet. `clock` holds the time in tests.

    `sqlite:///jobs.db` is relative, `sqlite:////var/jobs.db` absolute, `sqlite://:memory:` lives in this process.
    `postgresql://…?pooled=true` is for a transaction pooler such as PgBouncer.
    """
    scheme, _, rest = url.partition("://")
    match scheme:
        case "sqlite":
            return Sqlite(open_file(_sqlite_path(url, rest)), clock=clock)
        case "postgresql" | "postgres":
            plain, pooled = _take_pooled(url)
            return Postgres(plain, clock=clock, pooled=pooled)
        case _:
            raise InvalidSettings(
                f"cannot use the database URL {hide_password(url)!r}: "
                "it must begin with sqlite:/// or postgresql://"
            )


def stores_on(lane: Lane) -> Stores:
    """Every store, on the connections of one purpose."""
    return Stores(
        enqueuing=EnqueuingStore(lane),
        claims=ClaimStore(lane),
        jobs=JobStore(lane),
        upkeep=UpkeepStore(lane),
        dead_letters=DeadLetterStore(lane),
        kinds=KindStore(lane),
        workers=WorkerStore(lane),
        queues=QueueStore(lane),
        audit=AuditStore(lane),
    )


def hide_password(url: str) -> str:
    """The URL, fit to be shown."""
    parts = urlsplit(url)
    return url.replace(f":{parts.password}@", ":***@", 1) if parts.password else url


def _sqlite_path(url: str, rest: str) -> str:
    if rest in (":memory:", "/:memory:"):
        return ":memory:"
    if not rest.startswith("/") or rest == "/":
        raise InvalidSettings(
            f"cannot use the database URL {url!r}: write sqlite:///name.db for a file here, "
            "sqlite:////path/name.db for one elsewhere, or sqlite://:memory:"
        )
    return unquote(rest[1:])


def _take_pooled(url: str) -> tuple[str, bool]:
    parts = urlsplit(url)
    asked = parse_qs(parts.query).get("pooled", ["false"])[-1]
    query = "&".join(part for part in parts.query.split("&") if part and not part.startswith("pooled="))
    return parts._replace(query=query).geturl(), asked.lower() in ("1", "true", "yes")
