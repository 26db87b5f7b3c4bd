"""A variation: its parent binds until it has been read, then its duties go on, change or end."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import pytest
from test_oblicore_documents import clauses, process

from backstay_oblicore import intake
from backstay_oblicore.domain.errors import InvalidRequest

ISSUED, VARIED = date(2026, 1, 5), date(2026, 6, 1)
SAME = "The operator shall submit a noise report to the Agency every two years."
OLD = "The operator shall keep records of waste for two years."
NEW = "The operator shall keep records of waste for six years."
GONE = "The operator shall inspect the lagoon weekly."


async def permit(world: Any, content: bytes, *, issued: date, parent: UUID | None = None) -> UUID:
    found: UUID = await intake.add_document(
        world.services,
        content,
        user=world.staff,
        site=world.site,
        title="Permit",
        permit_number="EPR/1",
        issue_date=issued,
        parent=parent,
    )
    return found


async def duty(world: Any, document: UUID, words: str) -> Any:
    [row] = await world.rows(
        "SELECT * FROM oblicore.obligations WHERE document_id = $1 AND original_text = $2", document, words
    )
    return row


async def proof(world: Any, obligation: UUID) -> UUID:
    found: UUID = await intake.add_evidence(
        world.services,
        b"proof",
        user=world.staff,
        site=world.site,
        file_name="a.txt",
        obligations=[obligation],
    )
    return found


async def varied(world: Any) -> tuple[UUID, UUID]:
    old = await permit(world, clauses(SAME, OLD, GONE), issued=ISSUED)
    await process(world, old)
    await world.run("MONITORING_SCHEDULE", at=VARIED)
    for words in (SAME, OLD):
        await proof(world, (await duty(world, old, words))["id"])
    await world.execute("UPDATE oblicore.obligations SET assigned_to = $1", world.staff)
    new = await permit(world, clauses(SAME, NEW), issued=VARIED, parent=old)
    return old, new


async def test_the_old_permit_binds_until_the_variation_has_been_read(world: Any) -> None:
    old, new = await varied(world)
    assert await world.value("SELECT status FROM oblicore.documents WHERE id = $1", old) == "ACTIVE"

    result = await process(world, new)

    assert result["carried_over"] == 2
    assert await world.value("SELECT status FROM oblicore.documents WHERE id = $1", old) == "SUPERSEDED"


async def test_a_duty_with_the_same_words_goes_on_with_dates_evidence_and_person(world: Any) -> None:
    old, new = await varied(world)
    before = await duty(world, old, SAME)

    await process(world, new)
    await world.run("MONITORING_SCHEDULE", at=VARIED + timedelta(days=30))

    after = await duty(world, new, SAME)
    assert after["deadline_date"] == before["deadline_date"] == date(2028, 1, 5)
    assert (after["carried_from"], after["assigned_to"]) == (before["id"], world.staff)
    owners = await world.rows(
        "SELECT DISTINCT obligation_id FROM oblicore.deadlines WHERE due_date = '2028-01-05'"
    )
    assert [row["obligation_id"] for row in owners] == [after["id"]]
    linked = "SELECT count(*) FROM oblicore.obligation_evidence_links WHERE obligation_id = $1"
    assert await world.value(linked, after["id"]) == 1


async def test_a_changed_duty_keeps_its_evidence_and_person(world: Any) -> None:
    _old, new = await varied(world)

    await process(world, new)

    after = await duty(world, new, NEW)
    assert after["assigned_to"] == world.staff
    linked = "SELECT count(*) FROM oblicore.obligation_evidence_links WHERE obligation_id = $1"
    assert await world.value(linked, after["id"]) == 1


async def test_nothing_of_the_old_permit_comes_due_any_more(world: Any) -> None:
    """OBL-014"""
    old, new = await varied(world)
    await process(world, new)
    week_after = VARIED + timedelta(days=7)

    await world.run("MONITORING_SCHEDULE", at=week_after)
    await world.run("DEADLINE_ALERT", at=week_after)
    await world.run("EVIDENCE_REMINDER", at=week_after)

    told = await world.rows(
        "SELECT note.id FROM oblicore.notifications AS note"
        " LEFT JOIN oblicore.deadlines AS due ON due.id = note.entity_id"
        " JOIN oblicore.obligations AS duty ON duty.id IN (note.entity_id, due.obligation_id)"
        " WHERE duty.document_id = $1",
        old,
    )
    assert told == []
    left = "SELECT count(*) FROM oblicore.obligations WHERE document_id = $1 AND status <> 'NOT_APPLICABLE'"
    assert await world.value(left, old) == 0


async def test_reading_the_variation_again_carries_nothing_twice(world: Any) -> None:
    _old, new = await varied(world)
    await process(world, new)
    before = await world.rows("SELECT id, status, carried_from FROM oblicore.obligations ORDER BY id")

    await process(world, new, force_reprocess=True)

    assert await world.rows("SELECT id, status, carried_from FROM oblicore.obligations ORDER BY id") == before


async def test_a_variation_of_another_companys_permit_is_refused(world: Any, other_company: Any) -> None:
    """OBL-085"""
    old = await permit(world, clauses(SAME), issued=ISSUED)

    with pytest.raises(InvalidRequest):
        await intake.add_document(
            world.services,
            clauses(SAME),
            user=other_company.owner,
            site=other_company.site,
            title="Permit",
            parent=old,
        )
