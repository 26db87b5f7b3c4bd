"""Bad input is refused by name before anything is stored, in the same words on both databases."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from backstay import Backstay, BackstayError
from backstay.errors import (
    InvalidArguments,
    InvalidBatch,
    InvalidJob,
    InvalidPayload,
    InvalidPolicy,
    UnknownKind,
)
from backstay.handler import AsyncHandler


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


CYCLE: list[Any] = []
CYCLE.append(CYCLE)

# Each is the value of the argument `value`, and where in the arguments the trouble is.
PAYLOADS = {
    "not a number": (math.nan, "/value"),
    "infinity": ({"a": [1, math.inf]}, "/value/a/1"),
    "minus infinity": (-math.inf, "/value"),
    "2 to the 63": (2**63, "/value"),
    "5,000 digits": (10**5000, "/value"),
    "below 64 bits": ([-(2**63) - 1], "/value/0"),
    "NUL in a text": ("a\x00b", "/value"),
    "NUL in a key": ({"a\x00b": 1}, "/value"),
    "lone surrogate": (["\ud800"], "/value/0"),
    "too deep": (nested(65), "/value"),
    "far too deep": (nested(900), "/value"),
    "a cycle": (CYCLE, "/value"),
    "a key that is a number": ({1: 2}, "/value"),
    "an object JSON does not know": ({"when": object()}, "/value/when"),
    "bytes beyond text": ({"a~b/c": math.nan}, "/value/a~0b~1c"),
}

# Options that cannot be, and the word that the message must contain.
OPTIONS: dict[str, tuple[dict[str, Any], str]] = {
    "priority 0": ({"priority": 0}, "priority"),
    "priority 11": ({"priority": 11}, "priority"),
    "priority true": ({"priority": True}, "priority"),
    "priority 1.5": ({"priority": 1.5}, "priority"),
    "priority in words nobody declared": ({"priority": "high"}, "priority"),
    "no attempts": ({"max_attempts": 0}, "max_attempts"),
    "a billion attempts": ({"max_attempts": 10**9}, "max_attempts"),
    "no time at all": ({"timeout": 0}, "timeout"),
    "endless time": ({"timeout": math.inf}, "timeout"),
    "negative delay": ({"delay": -1}, "delay"),
    "delay that is no duration": ({"delay": "soon"}, "delay"),
    "delay of a century": ({"delay": timedelta(days=36525)}, "delay"),
    "a time without a zone": ({"run_at": datetime(2030, 1, 1)}, "run_at"),  # noqa: DTZ001  # that is the point
    "the year 9999": ({"run_at": datetime(9999, 1, 1, tzinfo=UTC)}, "run_at"),
    "an empty queue": ({"queue": ""}, "queue"),
    "a queue of 300 letters": ({"queue": "q" * 300}, "queue"),
    "a queue that is a path": ({"queue": "../etc"}, "queue"),
    "a queue of smileys": ({"queue": "😀"}, "queue"),
    "a key of 300 letters": ({"key": "k" * 300}, "key"),
    "a key with a line break": ({"key": "a\nb"}, "key"),
    "a key that turns the text around": ({"key": "a\u202eb"}, "key"),
    "a key in decomposed letters": ({"key": "e\u0301"}, "key"),
    "a tag with NUL": ({"tags": ["a\x00"]}, "tags"),
    "one text for tags": ({"tags": "abc"}, "tags"),
    "metadata with NaN": ({"metadata": {"a": math.nan}}, "/a"),
    "a window without a key": ({"unique_for": "1h"}, "unique"),
    "a parent that is no id": ({"parent": "7"}, "parent"),
}


@pytest.fixture
def app(empty_app: Backstay) -> Backstay:
    return empty_app


@pytest.fixture
def take(app: Backstay) -> AsyncHandler[[Any, int], None]:
    @app.job
    async def take(value: Any, number: int = 1) -> None:
        """Take anything."""

    return take


async def stored(app: Backstay) -> int:
    return sum(count.jobs for count in await app.jobs.counts())


@pytest.mark.parametrize(("value", "pointer"), PAYLOADS.values(), ids=PAYLOADS.keys())
async def test_a_value_that_cannot_be_kept_is_refused_with_its_place(
    app: Backstay, take: AsyncHandler[[Any, int], None], value: Any, pointer: str
) -> None:
    with pytest.raises(InvalidPayload) as caught:
        await take.enqueue(value)

    assert caught.value.pointer.startswith(pointer)
    assert await stored(app) == 0


async def test_arguments_of_more_than_a_mebibyte_are_refused(
    app: Backstay, take: AsyncHandler[[Any, int], None]
) -> None:
    with pytest.raises(InvalidPayload, match="more than the 1,048,576 allowed"):
        await take.enqueue("x" * (1 << 20))

    assert await stored(app) == 0


@pytest.mark.parametrize(("options", "word"), OPTIONS.values(), ids=OPTIONS.keys())
async def test_an_option_that_cannot_be_is_refused_by_name(
    app: Backstay, take: AsyncHandler[[Any, int], None], options: dict[str, Any], word: str
) -> None:
    with pytest.raises((InvalidJob, InvalidPolicy), match=word):
        await take.options(**options).enqueue(1)

    assert await stored(app) == 0


async def test_an_argument_of_another_type_is_refused_by_name(
    app: Backstay, take: AsyncHandler[[Any, int], None]
) -> None:
    with pytest.raises(InvalidArguments) as caught:
        await take.enqueue(1, number="7")  # type: ignore[arg-type]  # the checker sees it, too

    assert caught.value.field == "number"
    assert await stored(app) == 0


async def test_an_unknown_option_and_an_unknown_argument_are_refused(
    app: Backstay, take: AsyncHandler[[Any, int], None]
) -> None:
    with pytest.raises(TypeError, match="state"):
        take.options(state="completed")  # type: ignore[call-arg]  # nobody may set a state
    with pytest.raises(InvalidArguments, match="tenant_id"):
        await take.enqueue(1, tenant_id="acme")  # type: ignore[call-arg]  # not an argument

    assert await stored(app) == 0


async def test_one_bad_job_among_ten_thousand_refuses_them_all(
    app: Backstay, take: AsyncHandler[[Any, int], None]
) -> None:
    """The batch names the bad ones by their place, and nothing of it is stored."""
    calls = [take.args(number) for number in range(10_000)]
    calls[7_777] = take.options(priority=99).args(1)
    calls[8_888] = take.options(delay=-1).args(1)

    with pytest.raises(InvalidBatch) as caught:
        await app.jobs.enqueue_many(calls)

    assert set(caught.value.problems) == {7_777, 8_888}
    assert await stored(app) == 0


@pytest.mark.parametrize("kind", ["os.system", "__class__", "take2", "../take"])
async def test_a_kind_is_looked_up_and_never_imported(app: Backstay, kind: str) -> None:
    with pytest.raises(UnknownKind, match="unknown kind"):
        await app.jobs.enqueue_by_name(kind, {})

    assert await stored(app) == 0


async def test_both_databases_refuse_in_the_same_words(
    app: Backstay, take: AsyncHandler[[Any, int], None]
) -> None:
    """What decides is one validator in front of both; none of these words comes from a database."""
    words = []
    for value, _ in PAYLOADS.values():
        with pytest.raises(BackstayError) as caught:
            await take.enqueue(value)
        words.append(str(caught.value))

    assert not any("postgres" in text.lower() or "sqlite" in text.lower() for text in words)
    assert caught.value.__cause__ is None
