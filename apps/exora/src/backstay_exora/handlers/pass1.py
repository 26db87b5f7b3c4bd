"""Pass 1: what kind of document is it, and whose? Decides whether a person must look before Pass 2."""

import io
from uuid import UUID

from backstay import Context
from backstay_exora.domain import messages
from backstay_exora.domain.identity import Gate, ModelView, decide
from backstay_exora.domain.kinds import Lane
from backstay_exora.domain.text import DocumentText
from backstay_exora.files import fetch
from backstay_exora.handlers.asking import Question, ask
from backstay_exora.handlers.outcome import NextPass, PassCall, PassOutcome
from backstay_exora.handlers.parts import divided, merged_entities
from backstay_exora.handlers.schemas import ENTITIES, ENTITIES_SYSTEM
from backstay_exora.settings import Settings
from backstay_exora.store.connections import Connection, connect
from backstay_exora.store.documents import get_document, pages_of, set_status, text_of
from backstay_exora.store.passes import open_review, save_gate, save_metrics
from backstay_exora.store.patients import identities
from backstay_parts.model import Picture
from backstay_parts.optional import need

_PICTURE_SIDE = 1000


async def run(ctx: Context, settings: Settings, call: PassCall) -> PassOutcome:
    """Read the words, ask the model what it sees, decide by our own rules."""
    async with connect(settings.database_url) as connection:
        document = await get_document(connection, call.document_id)
        assert document is not None, "the promoted column refers to it"
        text = await text_of(connection, call.document_id)
        pages = await pages_of(connection, call.document_id)
        patients = await identities(connection, document.practice_id)
    picture = await _first_picture(settings, pages[0]["image_path"]) if pages else ()
    question = Question(
        1,
        call.document_id,
        call.session,
        call.correlation_id,
        "entities",
        ENTITIES,
        ENTITIES_SYSTEM,
        pictures=picture,
    )
    answers = await ask(
        ctx, settings, question, lane=Lane(call.lane), divide=lambda parts: divided(text, parts)
    )
    entities = merged_entities(answers.parts)
    stated = next(patient for patient in patients if patient.id == str(call.patient_id))
    gate = decide(
        stated,
        text,
        latest_year=ctx.now.year,
        others=patients,
        model=ModelView(
            bool(entities["manual_review_required"]),
            bool(entities["cross_profile_risk_detected"]),
        ),
    )

    # What the model says may name the patient: people read it in the review, and it stands in no job's result.
    why = str(entities["why"])[:200]
    said = [messages.GATE_MODEL_SAID.format(why=why)] if why and messages.GATE_MODEL in gate.reasons else []

    async def write(connection: Connection, next_job: UUID | None) -> None:
        await save_metrics(
            connection,
            document_id=call.document_id,
            patient_id=call.patient_id,
            session=call.session,
            entities=entities,
            prompt_tokens=answers.prompt_tokens,
            completion_tokens=answers.completion_tokens,
        )
        await save_gate(connection, document_id=call.document_id, patient_id=call.patient_id, gate=gate)
        if not gate.is_open:
            await open_review(
                connection,
                practice=document.practice_id,
                document_id=call.document_id,
                patient_id=call.patient_id,
                kind="identity",
                reasons=[*gate.reasons, *said],
                job_id=next_job,
            )
        await set_status(connection, call.document_id, "classified" if gate.is_open else "needs_review")

    return PassOutcome(write, _told(gate, text), NextPass(2, call.patient_id, needs_review=not gate.is_open))


def _told(gate: Gate, text: DocumentText) -> dict[str, object]:
    return {
        "pass": 1,
        "gate": "open" if gate.is_open else "held",
        "reasons": list(gate.reasons),
        "words": len(text.words),
    }


async def _first_picture(settings: Settings, key: str) -> tuple[Picture, ...]:
    image = need("PIL.Image", extra="ocr")
    picture = image.open(io.BytesIO(await fetch(settings, key)))
    picture.thumbnail((_PICTURE_SIDE, _PICTURE_SIDE))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return (Picture(buffer.getvalue()),)
