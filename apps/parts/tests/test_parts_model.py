"""The client tells answers and failures apart; the server reads, counts and really cuts."""

import json
import sys
from collections.abc import Iterator
from decimal import Decimal
from email.utils import formatdate
from pathlib import Path
from time import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    Usage,
    Verdict,
    cost,
    estimate_tokens,
    judge,
    next_rung,
)
from backstay_parts.model.server import tokens_of
from backstay_parts.servers import ModelServer

NUMBERS = {"type": "object", "required": ["numbers"]}


@pytest.fixture(scope="module")
def running() -> Iterator[ModelServer]:
    server = ModelServer("counting_reader", env={"PYTHONPATH": str(Path(__file__).parent)})
    with server:
        yield server


@pytest.fixture
def server(running: ModelServer) -> ModelServer:
    running.forget_faults()
    return running


def _client(server: ModelServer, *, timeout: float = 10.0) -> ModelClient:
    return ModelClient(server.base_url, api_key=server.api_key, model="numbers", timeout=timeout)


def _request(text: str = "dose 12 then 7", budget: int = 500) -> ModelRequest:
    return ModelRequest(
        "List the numbers.",
        text,
        budget,
        schema_name="numbers",
        schema=NUMBERS,
        pictures=(Picture(b"png"),),
        headers={"X-Correlation-Id": "c-1"},
    )


async def test_the_answer_comes_from_the_text_that_was_sent(server: ModelServer) -> None:
    answer = await _client(server).ask(_request("on 31 March 2024"))

    assert judge(answer) is Verdict.ANSWERED
    assert json.loads(answer.content) == {"numbers": ["31", "2024"], "pictures": 1}
    assert answer.usage.reasoning == 20
    assert answer.usage.completion == 20 + len(tokens_of(answer.content))
    assert server.calls()[-1]["headers"]["x-correlation-id"] == "c-1"


async def test_a_small_budget_is_used_up_before_any_text(server: ModelServer) -> None:
    answer = await _client(server).ask(_request(budget=20))

    assert (answer.content, answer.finish_reason) == ("", "length")
    assert judge(answer) is Verdict.BUDGET_USED_UP


async def test_a_longer_answer_is_really_cut(server: ModelServer) -> None:
    whole = await _client(server).ask(_request())
    cut = await _client(server).ask(_request(budget=30))

    assert judge(cut) is Verdict.CUT
    assert whole.content.startswith(cut.content)
    assert len(tokens_of(cut.content)) == 10
    assert cut.usage.completion == 30


async def test_a_provider_with_a_limit_of_its_own_cuts_whatever_was_asked(server: ModelServer) -> None:
    server.fail([{"most": 25}])

    answer = await _client(server).ask(_request(budget=5000))

    assert judge(answer) is Verdict.CUT
    assert answer.usage.completion == 25


@pytest.mark.parametrize(
    ("fault", "verdict"),
    [
        ({"refusal": "I cannot help with that."}, Verdict.REFUSED),
        ({"filter": True}, Verdict.FILTERED),
        ({"empty": True}, Verdict.EMPTY),
        ({"garble": True}, Verdict.BAD_JSON),
    ],
)
async def test_an_answer_without_worth_is_named(
    server: ModelServer, fault: dict[str, object], verdict: Verdict
) -> None:
    server.fail([fault])

    assert judge(await _client(server).ask(_request())) is verdict
    assert judge(await _client(server).ask(_request())) is Verdict.ANSWERED


async def test_a_busy_provider_says_how_long_to_wait(server: ModelServer) -> None:
    server.fail(
        [
            {"status": 429, "retry_after": "7"},
            {"status": 429, "retry_after": formatdate(time() + 90, usegmt=True)},
        ]
    )

    with pytest.raises(ModelBusy) as seconds:
        await _client(server).ask(_request())
    with pytest.raises(ModelBusy) as date:
        await _client(server).ask(_request())

    assert seconds.value.retry_after == 7
    assert date.value.retry_after is not None
    assert 0 < date.value.retry_after <= 91


@pytest.mark.parametrize("fault", [{"status": 500}, {"reset": True}, {"delay": 3}])
async def test_a_failing_provider_may_be_asked_again(server: ModelServer, fault: dict[str, object]) -> None:
    server.fail([fault])

    with pytest.raises(ModelUnavailable):
        await _client(server, timeout=0.5).ask(_request())


async def test_a_fault_waits_for_its_text(server: ModelServer) -> None:
    server.fail([{"status": 500, "match": "page 9"}])

    await _client(server).ask(_request("page 1"))
    with pytest.raises(ModelUnavailable):
        await _client(server).ask(_request("page 9"))


async def test_a_wrong_key_and_an_unknown_schema_are_refused(server: ModelServer) -> None:
    wrong = ModelClient(server.base_url, api_key="wrong", model="numbers")
    with pytest.raises(ModelRefusedRequest, match="API key"):
        await wrong.ask(_request())

    with pytest.raises(ModelRefusedRequest, match="no schema 'letters'"):
        await _client(server).ask(ModelRequest("x", "y", 100, schema_name="letters", schema=NUMBERS))


@given(st.text())
def test_tokens_joined_are_the_text_again(text: str) -> None:
    assert "".join(tokens_of(text)) == text


def test_the_ladder_raises_then_divides_then_ends() -> None:
    ladder = Ladder(first=2000, most=8000, most_parts=4)
    tried: list[Tried] = []
    rungs = []
    while (rung := next_rung(ladder, tried)) is not None:
        rungs.append(rung)
        tried.append(Tried(rung, Verdict.CUT if len(tried) % 2 else Verdict.BUDGET_USED_UP))

    assert rungs == [Rung(2000), Rung(4000), Rung(8000), Rung(8000, 2), Rung(8000, 4)]


@pytest.mark.parametrize("verdict", [Verdict.EMPTY, Verdict.BAD_JSON])
def test_another_fault_does_not_raise_the_budget(verdict: Verdict) -> None:
    assert next_rung(Ladder(), [Tried(Rung(4000), verdict)]) == Rung(4000)


def test_a_cut_answer_that_parses_is_still_cut() -> None:
    assert judge(ModelAnswer("{}", "length", None, Usage(1, 1), "m", 1)) is Verdict.CUT


def test_the_cost_is_exact() -> None:
    price = Price(prompt=Decimal("1.25"), completion=Decimal("10"))

    assert cost(Usage(1000, 300, 100), price) == Decimal("0.00425")


def test_the_estimate_is_a_quarter_of_the_bytes_rounded_up() -> None:
    assert [estimate_tokens(text) for text in ("", "a", "abcd", "abcde", "ü")] == [0, 1, 1, 2, 1]


def test_the_servers_process_has_nothing_of_the_test_in_it() -> None:
    assert "counting_reader" not in sys.modules
