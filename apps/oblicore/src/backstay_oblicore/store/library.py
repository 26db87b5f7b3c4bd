"""The rules library as rows: what operators may switch off, and what modules have."""

from __future__ import annotations

from backstay_oblicore.domain.permits.rules import BUILT_IN, LIBRARY_VERSION, Rule
from backstay_oblicore.store.database import Connection


async def store(connection: Connection) -> None:
    """Bring the built-in rules up to date; whether one is active stays as an operator has set it."""
    await connection.executemany(
        """
        INSERT INTO oblicore.extraction_rules (id, module_code, pattern, confidence, note, version)
        VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (id, module_code) DO UPDATE
        SET pattern = excluded.pattern, confidence = excluded.confidence, note = excluded.note,
            version = excluded.version
        """,
        [
            (rule.id, rule.module_code, rule.pattern, rule.confidence, rule.note, LIBRARY_VERSION)
            for rule in BUILT_IN
        ],
    )


async def active(connection: Connection, module_code: str) -> list[Rule]:
    """Return the rules that are in use for a module."""
    rows = await connection.fetch(
        "SELECT id, module_code, pattern, confidence, note FROM oblicore.extraction_rules"
        " WHERE module_code = $1 AND is_active ORDER BY id",
        module_code,
    )
    return [
        Rule(row["id"], row["module_code"], row["pattern"], float(row["confidence"]), row["note"])
        for row in rows
    ]
