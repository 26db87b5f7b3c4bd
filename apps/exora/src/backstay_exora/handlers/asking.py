"""Asks the model, climbing the ladder of budgets; every call is a step, so that a retry does not pay twice."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID

from backstay import Context
from backstay_exora.domain import messages
from backstay_exora.domain.failures import ExoraError, failure
from backstay_exora.domain.kinds import Lane
from backstay_exora.settings import Settings
from backstay_exora.store.connections import connect
from backstay_exora.store.passes import save_call
from backstay_parts.model import (
    Ladder,
    ModelAnswer,
    ModelBusy,
    ModelClient,
    ModelRefusedRequest,
    ModelRequest,
    ModelUnavailable,
    Picture,
    Price,
    Rung,
    Tried,
    Verdict,
    cost,
    judge,
    next_rung,
)

REPAIR = "Your last answer was not the JSON object asked for. Answer with the JSON object alone."


@dataclass(frozen=True, slots=True)
class Question:
    """What a pass asks of the model, and of which document."""

    pass_number: int
    document_id: UUID
    session: UUID
    correlation_id: str
    schema_name: str
    schema: Mapping[str, Any]
    system: str
    pictures: tuple[Picture, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """One answer as a step remembers it; content only where it is whole."""

    verdict: str
    content: str
    finish_reason: str
    choices_length: int
    model: str
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Answers:
    """The parsed answer of each part, and the tokens of all calls."""

    parts: tuple[dict[str, Any], ...]
    prompt_tokens: int
    completion_tokens: int


class LadderEnded(Exception):
    """No budget of this lane is large enough; `call` is the last answer, `patient_id` whom a person has named."""

    def __init__(self, call: Call) -> None:
        super().__init__("the ladder ended")
        self.call = call
        self.patient_id: UUID | None = None


def ladder_of(settings: Settings, lane: Lane) -> Ladder:
    """The complex lane begins where the simple one ends."""
    if lane is Lane.AI_SIMPLE:
        return Ladder(first=settings.first_budget, most=settings.most_budget, most_parts=2)
    return Ladder(first=settings.most_budget, most=settings.most_budget * 4, most_parts=8)


async def ask(
    ctx: Context,
    settings: Settings,
    question: Question,
    *,
    lane: Lane,
    divide: Callable[[int], Sequence[str]],
) -> Answers:
    """Whole answers to all parts of a text; raises `LadderEnded` or an `ExoraError` by the table.

    `divide` gives the text in so many parts.
    """
    for climb in count(1):
        asked = _Asked(question, f"climb-{climb}-" if climb > 1 else "")
        try:
            return await _climb(ctx, settings, asked, lane=lane, divide=divide)
        except LadderEnded:
            # What was remembered of an attempt that came to the end is known to be too small: ask anew.
            if asked.made or lane is Lane.AI_SIMPLE:
                raise
    raise AssertionError("the loop above has no end")


@dataclass(slots=True)
class _Asked:
    """What is asked in one climb of the ladder, and how many of its calls this attempt has made itself."""

    question: Question
    prefix: str
    made: int = 0


async def _climb(
    ctx: Context, settings: Settings, asked: _Asked, *, lane: Lane, divide: Callable[[int], Sequence[str]]
) -> Answers:
    ladder = ladder_of(settings, lane)
    tried: list[Tried] = []
    calls: list[Call] = []
    number = 0
    while (rung := next_rung(ladder, tried)) is not None:
        parts: list[dict[str, Any]] = []
        for text in divide(rung.parts):
            number += 1
            name = f"{asked.prefix}call-{number}"
            request = _request(asked.question, text, rung)
            call = await ctx.step(name, _paid, ctx, settings, asked, request, name)
            calls.append(call)
            if call.verdict != Verdict.ANSWERED:
                tried.append(Tried(rung, Verdict(call.verdict)))
                break
            parts.append(json.loads(call.content))
        else:
            return Answers(
                tuple(parts),
                sum(call.prompt_tokens for call in calls),
                sum(call.completion_tokens for call in calls),
            )
    raise LadderEnded(calls[-1])


def truncated(pass_number: int, call: Call) -> ExoraError:
    """The failure of a job whose ladder ended in the complex lane."""
    what = messages.CUT_RESPONSE if call.verdict == Verdict.CUT else messages.EMPTY_RESPONSE
    return failure("AI_TRUNCATED", messages.pass_failed(pass_number, what, _details(call)))


async def _paid(ctx: Context, settings: Settings, asking: _Asked, asked: ModelRequest, name: str) -> Call:
    """One call, noted with its cost; what cannot be used is raised, so that it is asked again by the next attempt."""
    asking.made += 1
    question = asking.question
    client = ModelClient(
        settings.model_url,
        api_key=settings.model_key,
        model=settings.model_name,
        timeout=settings.model_timeout,
    )
    answer = await _one(client, asked, question)
    verdict = judge(answer)
    await _note(ctx, settings, question, asked, name, answer, verdict)
    if verdict is Verdict.BAD_JSON:
        asked = ModelRequest(
            f"{asked.system}\n{REPAIR}",
            asked.text,
            asked.budget,
            schema_name=asked.schema_name,
            schema=asked.schema,
            pictures=asked.pictures,
            headers=asked.headers,
        )
        answer = await _one(client, asked, question)
        verdict = judge(answer)
        await _note(ctx, settings, question, asked, f"{name} repair", answer, verdict)
    return _usable(question.pass_number, answer, verdict)


def _usable(number: int, answer: ModelAnswer, verdict: Verdict) -> Call:
    call = Call(
        verdict,
        answer.content if verdict is Verdict.ANSWERED else "",
        answer.finish_reason,
        answer.choices_length,
        answer.model,
        answer.usage.prompt,
        answer.usage.completion,
    )
    match verdict:
        case Verdict.ANSWERED | Verdict.CUT | Verdict.BUDGET_USED_UP:
            return call
        case Verdict.REFUSED | Verdict.FILTERED:
            # What the model says may name the patient: people read it in the review, and nobody in an error.
            details = {**_details(call), "has_refusal": True, "refusal_text": messages.REFUSAL_KEPT}
            raise failure(
                "AI_REFUSED",
                messages.pass_failed(number, messages.REFUSED_RESPONSE, details),
                refusal=answer.refusal,
            )
        case Verdict.EMPTY:
            raise failure("AI_EMPTY", messages.pass_failed(number, messages.EMPTY_RESPONSE, _details(call)))
        case Verdict.BAD_JSON:
            raise failure(
                "AI_BAD_JSON", messages.pass_failed(number, messages.BAD_JSON_RESPONSE, _details(call))
            )


async def _one(client: ModelClient, asked: ModelRequest, question: Question) -> ModelAnswer:
    number, details = question.pass_number, {"model": client.model}
    try:
        return await client.ask(asked)
    except ModelBusy as error:
        raise failure(
            "AI_RATE_LIMIT",
            messages.pass_failed(number, messages.BUSY_PROVIDER, {**details, "status": 429}),
            retry_after=error.retry_after,
        ) from error
    except ModelUnavailable as error:
        code = "AI_HTTP_5XX" if error.status is not None else "AI_TIMEOUT"
        told = {**details, "status": error.status}
        raise failure(code, messages.pass_failed(number, messages.FAILING_PROVIDER, told)) from error
    except ModelRefusedRequest as error:
        told = {**details, "status": error.status}
        raise failure(
            "BAD_REQUEST", messages.pass_failed(number, "OpenAI did not take the request", told)
        ) from error


async def _note(
    ctx: Context,
    settings: Settings,
    question: Question,
    asked: ModelRequest,
    name: str,
    answer: ModelAnswer,
    verdict: Verdict,
) -> None:
    ctx.log.info(
        "model.answered",
        correlation_id=question.correlation_id,
        processing_session_id=str(question.session),
        pass_number=question.pass_number,
        verdict=verdict.value,
        budget=asked.budget,
        prompt_tokens=answer.usage.prompt,
        completion_tokens=answer.usage.completion,
    )
    price = Price(settings.prompt_price, settings.completion_price)
    async with connect(settings.database_url) as connection:
        await save_call(
            connection,
            job_id=ctx.job_id,
            call=f"{name} attempt {ctx.attempt} run {ctx.run}",
            shell_file_id=question.document_id,
            pass_number=question.pass_number,
            model=answer.model,
            budget=asked.budget,
            verdict=verdict.value,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.usage.prompt,
            completion_tokens=answer.usage.completion,
            reasoning_tokens=answer.usage.reasoning,
            cost_dollars=cost(answer.usage, price),
        )


def _request(question: Question, text: str, rung: Rung) -> ModelRequest:
    return ModelRequest(
        question.system,
        text,
        rung.budget,
        schema_name=question.schema_name,
        schema=question.schema,
        pictures=question.pictures,
        headers={
            "X-Correlation-Id": question.correlation_id,
            "X-Processing-Session-Id": str(question.session),
        },
    )


def _details(call: Call) -> dict[str, Any]:
    return {
        "finish_reason": call.finish_reason,
        "choices_length": call.choices_length,
        "has_refusal": False,
        "refusal_text": None,
        "model": call.model,
    }
