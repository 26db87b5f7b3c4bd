"""CROSS_SELL_TRIGGER_DETECTION: find words that suggest another module."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg

from backstay import Context
from backstay_oblicore.domain import keywords, texts
from backstay_oblicore.domain.keywords import Detection
from backstay_oblicore.domain.words import AlertType, Channel, Role, Severity
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import people
from backstay_oblicore.store.database import Connection, to_json
from backstay_oblicore.store.notifications import Note

KIND = "CROSS_SELL_TRIGGER_DETECTION"


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def cross_sell_trigger_detection(
        ctx: Context,
        company_id: UUID | None = None,
        document_id: UUID | None = None,
        process_recent_only: bool = True,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            modules = await closing.connection.fetch(
                "SELECT id, module_code, module_name, cross_sell_keywords FROM oblicore.modules"
                " WHERE is_active AND cross_sell_keywords <> '{}' ORDER BY module_code"
            )
            since = ctx.now - timedelta(hours=24) if process_recent_only else None
            rows = await _documents(closing.connection, company_id, document_id, since)
            triggers = 0
            for number, row in enumerate(rows, start=1):
                triggers += await _scan(ctx, closing, row, modules)
                line = texts.CROSS_SELL_PROGRESS.format(n=number, total=len(rows), triggers=triggers)
                ctx.progress(number, len(rows), line)
                ctx.log.info(line)
            triggers += await _from_breaches(closing, company_id, modules)
            closing.result |= {"documents": len(rows), "triggers": triggers}
        return {}

    return cross_sell_trigger_detection


async def _scan(ctx: Context, closing: Closing, row: Any, modules: list[Any]) -> int:
    """Look for one document's words; what one module's trigger is refused for stops no other."""
    triggers = 0
    for module in modules:
        try:
            found = keywords.detect(row["extracted_text"], module["cross_sell_keywords"])
            if found.keywords:
                async with closing.connection.transaction():
                    triggers += await _trigger(
                        closing, row["company_id"], module, "keyword", row["id"], found
                    )
        except (ValueError, asyncpg.RaiseError, asyncpg.IntegrityConstraintViolationError) as error:
            ctx.log.warning(
                "Suggestion passed over",
                document_id=str(row["id"]),
                module=module["module_code"],
                reason=str(error),
            )
    return triggers


async def _documents(
    connection: Connection, company: UUID | None, document: UUID | None, since: datetime | None
) -> list[Any]:
    return await connection.fetch(
        """
        SELECT paper.id, paper.company_id, paper.extracted_text
        FROM oblicore.documents AS paper
        JOIN oblicore.modules AS module ON module.id = paper.module_id AND module.module_code = 'MODULE_1'
        WHERE paper.status = 'ACTIVE'
          AND paper.deleted_at IS NULL
          AND paper.extraction_status IN ('COMPLETED', 'REVIEW_REQUIRED')
          AND paper.extracted_text IS NOT NULL
          AND ($1::uuid IS NULL OR paper.company_id = $1)
          AND ($2::uuid IS NULL OR paper.id = $2)
          AND ($3::timestamptz IS NULL OR paper.updated_at >= $3)
          AND NOT EXISTS (
              SELECT
              FROM oblicore.cross_sell_triggers AS known
              WHERE known.trigger_source = paper.id::text AND known.trigger_type = 'keyword'
          )
        ORDER BY paper.id
        """,
        company,
        document,
        since,
    )


async def _trigger(
    closing: Closing, company: UUID, module: Any, trigger_type: str, source: UUID, found: Detection
) -> int:
    connection = closing.connection
    is_active = await connection.fetchval(
        "SELECT EXISTS (SELECT FROM oblicore.module_activations"
        " WHERE company_id = $1 AND module_id = $2 AND status = 'ACTIVE')",
        company,
        module["id"],
    )
    if is_active:
        return 0
    trigger = await connection.fetchval(
        """
        INSERT INTO oblicore.cross_sell_triggers (
            company_id, target_module_id, trigger_type, trigger_source, detected_keywords, metadata
        )
        VALUES ($1, $2, $3, $4, $5, ($6::text)::jsonb)
        ON CONFLICT (company_id, target_module_id, trigger_source) DO NOTHING
        RETURNING id
        """,
        company,
        module["id"],
        trigger_type,
        str(source),
        list(found.keywords),
        to_json({"confidence": found.confidence, "density": round(found.density, 6)}),
    )
    if trigger is None:
        return 0
    for person in await people.people_of(connection, company):
        if Role.OWNER in person.roles:
            closing.notes.append(_note(person.id, company, module, trigger, found.keywords[0]))
    return 1


def _note(reader: str, company: UUID, module: Any, trigger: UUID, keyword: str) -> Note:
    return Note(
        user_id=reader,
        company_id=company,
        alert_type=AlertType.MODULE_ACTIVATION,
        severity=Severity.INFO,
        channels=(Channel.IN_APP,),
        title=texts.CROSS_SELL_TITLE.format(module=module["module_name"]),
        message=texts.CROSS_SELL_MESSAGE.format(keyword=keyword, module=module["module_name"]),
        entity_type="CROSS_SELL_TRIGGER",
        entity_id=trigger,
        action_url=f"/modules/activate/{module['id']}",
    )


async def _from_breaches(closing: Closing, company: UUID | None, modules: list[Any]) -> int:
    """A run-hour breach at a company without the generators' module suggests that module, too."""
    module = next((one for one in modules if one["module_code"] == "MODULE_3"), None)
    if module is None:
        return 0
    rows = await closing.connection.fetch(
        "SELECT DISTINCT company_id, entity_id FROM oblicore.notifications WHERE alert_type = 'BREACH'"
        " AND entity_type = 'GENERATOR' AND ($1::uuid IS NULL OR company_id = $1)",
        company,
    )
    triggers = 0
    for row in rows:
        found = Detection(("run-hour breach",), 1, 1)
        triggers += await _trigger(
            closing, row["company_id"], module, "EXTERNAL_EVENT", row["entity_id"], found
        )
    return triggers
