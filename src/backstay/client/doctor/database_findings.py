"""Which problems the database itself shows: dead rows, old transactions, lost indexes, hints that do not arrive."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from backstay.client.doctor.findings import Finding, Severity
from backstay.client.doctor.text import listed, spoken
from backstay.model.records import Health

DEAD_ROWS = 50_000
OPEN_LONG = timedelta(minutes=15)


def bloat(health: Health) -> Iterator[Finding]:
    """Tables with more dead rows than living ones, and many of them."""
    for table in health.tables:
        if table.dead > max(DEAD_ROWS, table.live):
            yield Finding(
                code="bloat",
                severity=Severity.WARNING,
                title=f"{table.name} is mostly dead rows",
                detail=f"{table.dead:,} dead beside {table.live:,} in use; every claim steps over them",
                advice="on PostgreSQL let autovacuum keep up (autovacuum_vacuum_scale_factor = 0.01 for "
                "backstay.jobs) and end old transactions; on SQLite run VACUUM while no worker runs",
                count=table.dead,
            )


def old_transaction(health: Health) -> Iterator[Finding]:
    """A transaction that keeps dead rows from being removed."""
    oldest = health.oldest
    if oldest is not None and oldest.open_for > OPEN_LONG:
        yield Finding(
            code="old_transaction",
            severity=Severity.WARNING,
            title=f"a transaction has been open for {spoken(oldest.open_for)}",
            detail=f"process {oldest.pid} ({oldest.application or 'without a name'}); "
            "no row that died since can be removed, and claims get slower",
            advice=f"end it, if need be with SELECT pg_terminate_backend({oldest.pid}), and set "
            "idle_in_transaction_session_timeout for its role",
        )


def missing_indexes(lines: Sequence[str]) -> list[Finding]:
    """Indexes of this release that the database does not have."""
    if not lines:
        return []
    names = [line.removeprefix("missing: index ").split(":")[0] for line in lines]
    return [
        Finding(
            code="missing_index",
            severity=Severity.ERROR,
            title="indexes are missing",
            detail=listed(names),
            advice="statements that need them read whole tables: take their CREATE INDEX from "
            "'backstay db migrate --sql' and run it with CONCURRENTLY",
            count=len(names),
        )
    ]


def lost_hints(waited: timedelta) -> Finding:
    """A hint was sent and did not arrive."""
    return Finding(
        code="hints_lost",
        severity=Severity.WARNING,
        title="hints do not arrive, so workers find jobs by polling only",
        detail=f"a hint that the doctor sent to itself had not come back after {spoken(waited)}",
        advice="a pooler in transaction mode loses LISTEN: give workers a direct connection, "
        "or add ?pooled=true to the URL if polling is enough",
    )


def no_hints() -> Finding:
    """Nobody can listen here."""
    return Finding(
        code="hints_off",
        severity=Severity.INFO,
        title="hints are off, so workers find jobs by polling only",
        detail="the URL says pooled=true, and behind a transaction pooler nobody can listen",
        advice="for jobs that start at once give workers a URL that goes around the pooler",
    )
