"""Column types that mean the same on PostgreSQL and SQLite."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator, TypeEngine

Json = JSON(none_as_null=True).with_variant(JSONB(none_as_null=True), "postgresql")


class Moment(TypeDecorator[datetime]):
    """A moment in UTC. SQLite keeps it as text of one width, so that it sorts and compares like a time."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Choose the database's own type where there is one."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(DateTime(timezone=True))
        return dialect.type_descriptor(Text())

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        """Write a moment; one without a zone is refused, because nobody knows when it is."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError(f"a moment needs a time zone: {value!r}")
        value = value.astimezone(UTC)
        return value if dialect.name == "postgresql" else _written(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        """Read a moment back."""
        if value is None:
            return None
        if isinstance(value, datetime):
            return value.astimezone(UTC)
        return datetime.fromisoformat(value).astimezone(UTC)


def _written(moment: datetime) -> str:
    # Not by strftime, which writes years before 1000 with fewer digits.
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
