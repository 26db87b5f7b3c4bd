"""Pass 2: the facts. Runs only after the gate is open or a person has decided."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from backstay import Context
from backstay_exora.domain.clinical import accept
from backstay_exora.domain.kinds import Lane
from backstay_exora.handlers.asking import LadderEnded, Question, ask
from backstay_exora.handlers.outcome import NextPass, PassCall, PassOutcome
from backstay_exora.handlers.parts import divided, proposals
from backstay_exora.handlers.schemas import CLINICAL_FACTS, FACTS_SYSTEM
from backstay_exora.settings import Settings
from backstay_exora.store.connections import Connection, connect
from backstay_exora.store.documents import get_document, set_status, text_of
from backstay_exora.store.facts import replace_facts, save_set_aside, save_unsure


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person decided about a held document."""

    decision: str
    patient_id: UUID


async def run(ctx: Context, settings: Settings, call: PassCall) -> PassOutcome:
    """Wait for the person where one is needed, ask for the facts, keep those that hold."""
    patient_id = call.patient_id
    if call.needs_review:
        decided = await ctx.wait_for("review", type=Decision)
        if decided.decision == "reject":
            return _rejected(call)
        patient_id = decided.patient_id
    async with connect(settings.database_url) as connection:
        document = await get_document(connection, call.document_id)
        assert document is not None, "the promoted column refers to it"
        text = await text_of(connection, call.document_id)
    question = Question(
        2, call.document_id, call.session, call.correlation_id, "clinical_facts", CLINICAL_FACTS, FACTS_SYSTEM
    )
    try:
        answers = await ask(
            ctx, settings, question, lane=Lane(call.lane), divide=lambda parts: divided(text, parts)
        )
    except LadderEnded as ended:
        ended.patient_id = patient_id
        raise
    accepted = accept(proposals(answers.parts), text)
    narrative_id = await ctx.step("narrative id", _new_id)

    async def write(connection: Connection, next_job: UUID | None) -> None:
        await replace_facts(
            connection,
            document_id=call.document_id,
            patient_id=patient_id,
            session=call.session,
            facts=accepted.stored,
        )
        await save_set_aside(connection, call.document_id, accepted.set_aside)
        await save_unsure(
            connection,
            practice=document.practice_id,
            document_id=call.document_id,
            patient_id=patient_id,
            items=accepted.to_review,
        )
        await set_status(connection, call.document_id, "extracted")

    told = {
        "pass": 2,
        "stored": len(accepted.stored),
        "to_review": len(accepted.to_review),
        "set_aside": len(accepted.set_aside),
    }
    return PassOutcome(write, told, NextPass(3, patient_id, narrative_id=narrative_id))


def _rejected(call: PassCall) -> PassOutcome:
    async def write(connection: Connection, next_job: UUID | None) -> None:
        await set_status(connection, call.document_id, "rejected")

    return PassOutcome(write, {"pass": 2, "decision": "reject", "stored": 0})


def _new_id() -> UUID:
    return uuid4()
