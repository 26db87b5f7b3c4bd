"""The job type ai_processing: three passes over a document, each replacing what it wrote before."""

from typing import Any
from uuid import UUID

from backstay import Cancel, Context, JobHandle, PromotedField, References
from backstay_exora.app import app, settings
from backstay_exora.domain import messages
from backstay_exora.domain.failures import ExoraError, FinalFailure
from backstay_exora.domain.kinds import AiLane, Category, Lane, document_priority
from backstay_exora.handlers import pass1, pass2, pass3
from backstay_exora.handlers.asking import LadderEnded, truncated
from backstay_exora.handlers.outcome import NextPass, PassCall, PassOutcome
from backstay_exora.store.connections import Connection
from backstay_exora.store.documents import get_document, set_status, why_stop
from backstay_exora.store.passes import open_review, start_narrative
from backstay_exora.store.patients import plan_of

PROMOTED = [
    PromotedField("patient_id", References("exora.user_profiles.id"), type="uuid"),
    PromotedField("shell_file_id", References("exora.shell_files.id"), type="uuid"),
    PromotedField("job_lane", type="text"),
    PromotedField("job_category", type="text"),
]
_NARRATIVE = PromotedField("narrative_id", References("exora.clinical_narratives.id"), type="uuid")
_PASSES = {1: pass1.run, 2: pass2.run, 3: pass3.run}


@app.job(queue=Lane.AI_SIMPLE, runs_in=settings.passes_run_in, timeout="10m", promote=[*PROMOTED, _NARRATIVE])
async def ai_processing(
    ctx: Context,
    shell_file_id: UUID,
    patient_id: UUID,
    processing_session_id: UUID,
    pass_number: int = 1,
    correlation_id: str = "",
    job_lane: AiLane = "ai_queue_simple",
    job_category: Category = Category.STANDARD,
    narrative_id: UUID | None = None,
    needs_review: bool = False,
    estimated_tokens: int = 1000,
) -> dict[str, Any] | None:
    """One pass over one document."""
    call = PassCall(
        pass_number,
        shell_file_id,
        patient_id,
        processing_session_id,
        correlation_id or str(processing_session_id),
        job_lane,
        narrative_id,
        needs_review,
    )
    try:
        outcome = await _run(ctx, call)
    except ExoraError as error:
        if not isinstance(error, FinalFailure) and ctx.attempt < ctx.max_attempts:
            raise
        outcome = _given_up(call, error)
    async with ctx.transaction() as tx:
        if reason := await why_stop(tx.connection, shell_file_id, processing_session_id):
            raise Cancel(reason)
        follower = await _follow(tx.connection, call, outcome.follows) if outcome.follows else None
        await outcome.write(tx.connection, follower)
        tx.fail(outcome.failure) if outcome.failure else tx.result(dict(outcome.result))
    return None


async def _run(ctx: Context, call: PassCall) -> PassOutcome:
    try:
        return await _PASSES[call.pass_number](ctx, settings, call)
    except LadderEnded as ended:
        if call.lane == Lane.AI_COMPLEX:
            raise truncated(call.pass_number, ended.call) from ended
        return _moved(call, ended.patient_id or call.patient_id)


async def enqueue_pass(
    connection: Connection | None, call: PassCall, *, priority: int, filename: str, practice: str
) -> UUID:
    """Store a pass; with a connection, in its transaction."""
    options = ai_processing.options(
        queue=call.lane,
        priority=priority,
        tenant=practice,
        name=messages.pass_name(call.pass_number, filename),
        correlation_id=call.correlation_id,
        wait_for="review" if call.needs_review else None,
        tx=connection,
    )
    job: JobHandle[Any] = await options.enqueue(
        shell_file_id=call.document_id,
        patient_id=call.patient_id,
        processing_session_id=call.session,
        pass_number=call.pass_number,
        correlation_id=call.correlation_id,
        job_lane=call.lane,
        narrative_id=call.narrative_id,
        needs_review=call.needs_review,
    )
    return UUID(str(job.id))


async def _follow(connection: Connection, call: PassCall, follows: NextPass) -> UUID:
    document = await get_document(connection, call.document_id)
    assert document is not None, "the promoted column refers to it"
    if follows.narrative_id is not None:
        # The job refers to the narrative's row, so the row comes first.
        await start_narrative(
            connection,
            narrative_id=follows.narrative_id,
            patient_id=follows.patient_id,
            document_id=call.document_id,
            session=call.session,
        )
    following = PassCall(
        follows.pass_number,
        call.document_id,
        follows.patient_id,
        call.session,
        call.correlation_id,
        follows.lane or call.lane,
        follows.narrative_id,
        follows.needs_review,
    )
    plan = await plan_of(connection, document.practice_id)
    priority = document_priority(plan=plan or "standard", is_urgent=document.is_urgent)
    return await enqueue_pass(
        None, following, priority=priority, filename=document.filename, practice=document.practice_id
    )


def _moved(call: PassCall, patient_id: UUID) -> PassOutcome:
    """The simple lane's ladder ended: the same pass goes on in the complex lane, for the patient it was decided for."""

    async def write(connection: Connection, next_job: UUID | None) -> None:
        return None

    follows = NextPass(
        call.pass_number,
        patient_id,
        needs_review=False,
        narrative_id=call.narrative_id,
        lane=Lane.AI_COMPLEX,
    )
    return PassOutcome(write, {"pass": call.pass_number, "moved_to": Lane.AI_COMPLEX.value}, follows)


def _given_up(call: PassCall, error: ExoraError) -> PassOutcome:
    """A refusal becomes a question for a person; every final failure is told on the document."""

    async def write(connection: Connection, next_job: UUID | None) -> None:
        document = await get_document(connection, call.document_id)
        assert document is not None, "the promoted column refers to it"
        if error.code == "AI_REFUSED":
            refusal = str(error.details.get("refusal") or "")[:500]
            await open_review(
                connection,
                practice=document.practice_id,
                document_id=call.document_id,
                patient_id=call.patient_id,
                kind="refused",
                reasons=[
                    messages.REFUSED_RESPONSE,
                    *([messages.REFUSAL.format(text=refusal)] if refusal else []),
                ],
            )
        await set_status(connection, call.document_id, "failed", problem=error.code)

    return PassOutcome(write, {}, failure=error)
