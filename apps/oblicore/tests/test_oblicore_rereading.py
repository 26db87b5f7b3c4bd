"""Reading a document again: what people decided stays decided, and only what is new is asked."""

from __future__ import annotations

from typing import Any

import pytest
from test_oblicore_documents import ISSUED, clauses, process, upload
from test_oblicore_scans import bound, pictures

from backstay_oblicore.demo.permit_maker import as_scan, make_consent
from backstay_oblicore.domain.permits.asking import SCHEMA, Chunk, parse_answer
from backstay_oblicore.domain.permits.segments import Segment
from backstay_oblicore.domain.words import Frequency, ReviewStatus
from backstay_oblicore.readers.documents import outline
from backstay_oblicore.store import reviews
from backstay_oblicore.store.reviews import Changes
from backstay_parts.pdf import merge
from backstay_parts.scans import Damage

OPEN = "Further guidance explains that fees will be published."
BY_MODEL = "Surfaces are to be drained to the interceptor."


async def decide_all(world: Any, *, confirmed: bool) -> None:
    async with world.services.database.as_user(world.manager) as connection:
        for item in await reviews.pending(connection):
            await reviews.decide(
                connection,
                item["id"],
                confirmed=confirmed,
                reason="looked at",
                changes=Changes(),
                user=world.manager,
            )


async def status(world: Any) -> Any:
    return await world.value("SELECT extraction_status FROM oblicore.documents")


@pytest.mark.parametrize("confirmed", [True, False])
async def test_a_reviewed_document_that_is_read_again_is_still_complete(world: Any, confirmed: bool) -> None:
    """OBL-032"""
    document = await upload(world, clauses("The operator shall keep a log.", OPEN))
    await process(world, document)
    await decide_all(world, confirmed=confirmed)
    assert await status(world) == "COMPLETED"

    await process(world, document, force_reprocess=True)

    assert await status(world) == "COMPLETED"
    assert (
        await world.value("SELECT count(*) FROM oblicore.review_queue_items WHERE review_status = 'PENDING'")
        == 0
    )


async def test_an_open_sentence_is_asked_about_again_if_its_answer_was_lost(world: Any) -> None:
    document = await upload(world, clauses("The operator shall keep a log.", OPEN))
    await process(world, document)
    await decide_all(world, confirmed=False)
    await world.execute("DELETE FROM oblicore.document_sentences")

    await process(world, document, force_reprocess=True)

    assert await status(world) == "REVIEW_REQUIRED"
    assert await world.value("SELECT review_status FROM oblicore.review_queue_items") == ReviewStatus.PENDING


async def test_a_failure_that_was_overcome_asks_nobody_any_more(world: Any, model_server: Any) -> None:
    """OBL-033"""
    document = await upload(world, clauses(BY_MODEL))
    model_server.fail([{"status": 500, "times": 3}])
    job = await world.services.handlers["DOCUMENT_PROCESSING"].enqueue(document_id=document)
    await world.backstay.drain(with_scheduled=True)
    assert (await job.get()).state == "dead"

    await process(world, document, force_reprocess=True)

    assert await world.value("SELECT count(*) FROM oblicore.review_queue_items") == 0
    assert await status(world) == "COMPLETED"


async def test_reading_only_what_is_new_asks_nothing_and_loses_nothing(world: Any, model_server: Any) -> None:
    """OBL-024"""
    document = await upload(world, clauses("The operator shall keep a log.", BY_MODEL))
    await process(world, document)
    await world.execute("UPDATE oblicore.obligations SET review_status = 'PENDING'")
    calls = len(model_server.calls())

    result = await process(world, document, force_reprocess=True, extraction_mode="INCREMENTAL")

    assert len(model_server.calls()) == calls
    assert result["obligations_extracted"] == 2
    assert await world.value("SELECT count(*) FROM oblicore.obligations WHERE deleted_at IS NULL") == 2
    assert await status(world) == "COMPLETED"


async def test_one_poor_page_among_good_ones_is_a_question(world: Any) -> None:
    """OBL-027"""
    content = make_consent(1005, issued=ISSUED).content
    poor = bound(pictures(content, Damage(noise=55, blur=1.2, scale=0.5))[:1], dpi=100)
    document = await upload(world, merge([as_scan(content, seed=5), poor]))

    await process(world, document)

    asked = await world.value(
        "SELECT original_data FROM oblicore.review_queue_items WHERE review_type = 'OCR_QUALITY'"
    )
    pages = outline(
        await world.services.storage.get(f"documents/{world.company}/{world.site}/{document}/original.pdf")
    )
    assert list(asked["pages"]) == [str(pages.page_count)]
    assert await status(world) == "REVIEW_REQUIRED"


def test_a_scan_with_a_stamp_of_text_over_it_is_a_scan(tmp_path: Any) -> None:
    """OBL-027"""
    import io

    from reportlab.lib.pagesizes import A4
    from reportlab.lib.utils import ImageReader
    from reportlab.pdfgen.canvas import Canvas

    [picture, *_] = pictures(make_consent(1005, issued=ISSUED).content, Damage())
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4)
    canvas.drawImage(ImageReader(picture), 0, 0, *A4)
    canvas.drawString(50, 810, "Received by the permitting team on 5 January 2026, reference 17/442")
    canvas.save()

    assert outline(buffer.getvalue()).scanned == (1,)


def objects_of(schema: Any) -> list[dict[str, Any]]:
    """Return every object of a schema."""
    if isinstance(schema, list):
        return [found for one in schema for found in objects_of(one)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for one in schema.values() for found in objects_of(one)]


def test_the_schema_is_one_that_strict_mode_takes() -> None:
    """OBL-029"""
    found = objects_of(SCHEMA)

    assert len(found) == 2
    for one in found:
        assert one["additionalProperties"] is False
        assert set(one["required"]) == set(one["properties"])
    frequency = found[1]["properties"]["frequency"]
    assert set(frequency["enum"]) == {None, *(one.value for one in Frequency)}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("annually", Frequency.ANNUAL),
        ("Half-yearly", Frequency.BIANNUAL),
        ("event triggered", Frequency.EVENT_TRIGGERED),
        ("once in a blue moon", None),
        (None, None),
    ],
)
def test_a_frequency_in_other_words_costs_no_document(written: str | None, meant: Frequency | None) -> None:
    """OBL-029"""
    entry = {
        "section": 1,
        "text": "x",
        "category": "MONITORING",
        "confidence_score": 0.5,
        "frequency": written,
    }

    [found] = parse_answer({"obligations": [entry]}, Chunk("", {1: Segment("1.1", "", 1, ["x"], 1)}))

    assert found.frequency is meant
