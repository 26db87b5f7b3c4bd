"""Asking a language model about the sections that no rule covered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from backstay_oblicore.domain.errors import AnswerInvalid, ModelFailed, ModelTimeout
from backstay_oblicore.domain.permits.asking import (
    SCHEMA,
    SCHEMA_NAME,
    SYSTEM,
    Chunk,
    Finding,
    chunks,
    parse_answer,
)
from backstay_oblicore.domain.permits.segments import Segment
from backstay_parts.model import (
    Ladder,
    ModelBusy,
    ModelClient,
    ModelError,
    ModelRefusedRequest,
    ModelRequest,
    Tried,
    Verdict,
    judge,
    next_rung,
)

LADDER = Ladder(first=4_000, most=32_000)
LONGEST_WAIT = 20.0
MOST_WAITS = 3


@dataclass(frozen=True)
class Reader:
    """A model to ask, and how long one call may take."""

    client: ModelClient
    seconds: float

    @property
    def name(self) -> str:
        """The model's name, as it is written into logs."""
        return self.client.model


Remember = Callable[[str, Callable[[], Awaitable[Any]]], Awaitable[Any]]
"""Runs a named part once; a retry gets its remembered result. A job passes its steps in."""


async def ask_about(
    segments: Sequence[Segment], reader: Reader, *, remember: Remember
) -> list[tuple[Chunk, list[Finding]]]:
    """Ask about all segments, chunk by chunk; a long answer is asked for again with more room."""
    answers = []
    for number, chunk in enumerate(chunks(segments), start=1):
        answers += await _ask_chunk(f"model chunk {number}", list(chunk.sections.values()), reader, remember)
    return answers


async def _ask_chunk(
    name: str, segments: Sequence[Segment], reader: Reader, remember: Remember
) -> list[tuple[Chunk, list[Finding]]]:
    (chunk,) = chunks(segments)

    async def call() -> Any:
        return await _climb(chunk, reader)

    answer = await remember(name, call)
    if answer is not None:
        return [(chunk, parse_answer(answer, chunk))]
    if len(segments) == 1:
        raise AnswerInvalid("the model's answer about one section is cut off even with the largest budget")
    half = len(segments) // 2
    return [
        *await _ask_chunk(f"{name}a", segments[:half], reader, remember),
        *await _ask_chunk(f"{name}b", segments[half:], reader, remember),
    ]


async def _climb(chunk: Chunk, reader: Reader) -> Any:
    """Ask with growing budgets; none if the answer is cut at the largest, so that the caller divides."""
    tried: list[Tried] = []
    while (rung := next_rung(LADDER, tried)) is not None and rung.parts == 1:
        answer = await _ask_once(ModelRequest(SYSTEM, chunk.text, rung.budget, SCHEMA_NAME, SCHEMA), reader)
        verdict = judge(answer)
        if verdict is Verdict.ANSWERED:
            return json.loads(answer.content)
        if verdict not in (Verdict.CUT, Verdict.BUDGET_USED_UP):
            if any(one.verdict is verdict for one in tried):
                raise ModelFailed(f"the model gave no usable answer: {verdict.value}")
            await asyncio.sleep(0)
        tried.append(Tried(rung, verdict))
    return None


async def _ask_once(request: ModelRequest, reader: Reader) -> Any:
    for attempt in range(MOST_WAITS + 1):
        try:
            async with asyncio.timeout(reader.seconds):
                return await reader.client.ask(request)
        except TimeoutError as error:
            raise ModelTimeout(f"the model did not answer within {reader.seconds:g} seconds") from error
        except ModelBusy as error:
            wait = error.retry_after if error.retry_after is not None else 1.0
            if attempt == MOST_WAITS or wait > LONGEST_WAIT:
                raise ModelFailed(f"the model is busy; it asks to wait {wait:g} seconds") from error
            await asyncio.sleep(wait)
        except ModelRefusedRequest as error:
            raise AnswerInvalid(f"the model refused the request: {error}") from error
        except ModelError as error:
            raise ModelFailed(str(error)) from error
    raise ModelFailed("the model stayed busy")


async def without_memory(name: str, part: Callable[[], Awaitable[Any]]) -> Any:
    """Run a part without remembering it, where no job is running."""
    return await part()
