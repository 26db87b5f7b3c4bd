"""Finding rows of one tenant; what belongs to another one is not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, insert, select, update

from backstay_passport.domain.errors import NotFound
from backstay_passport.store.database import new_id, now_text


def find(connection: Connection, table: Table, tenant_id: str, identifier: str, noun: str) -> RowMapping:
    """Return the row with this id; raise `NotFound` if it is not there or not the tenant's."""
    found = connection.execute(select(table).where(table.c.id == identifier, table.c.tenant_id == tenant_id))
    row = found.mappings().one_or_none()
    if row is None:
        raise NotFound(noun, identifier)
    return row


def add(connection: Connection, table: Table, tenant_id: str, **values: Any) -> str:
    """Insert a row and return its id, drawn here unless it is given."""
    identifier = values.pop("id", None) or new_id()
    connection.execute(
        insert(table).values(id=identifier, tenant_id=tenant_id, created_at=now_text(), **values)
    )
    return str(identifier)


def change(connection: Connection, table: Table, identifier: str, **values: Any) -> None:
    """Update the row with this id."""
    connection.execute(update(table).where(table.c.id == identifier).values(**values))


def of_tenant(
    connection: Connection, table: Table, tenant_id: str, *conditions: Any, limit: int = 500
) -> Sequence[RowMapping]:
    """Return the newest rows of a tenant that fit."""
    query = select(table).where(table.c.tenant_id == tenant_id, *conditions)
    return connection.execute(query.order_by(table.c.created_at.desc()).limit(limit)).mappings().all()


def all_of_tenant(connection: Connection, table: Table, tenant_id: str) -> Sequence[RowMapping]:
    """Return every row of a tenant, oldest first."""
    query = select(table).where(table.c.tenant_id == tenant_id).order_by(table.c.created_at)
    return connection.execute(query).mappings().all()
