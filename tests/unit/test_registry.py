"""Arguments are checked against the handler's signature when enqueued, and come back in its types."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import pytest
from pydantic import BaseModel

from backstay import Backstay
from backstay.context import Context
from backstay.errors import InvalidArguments, InvalidPayload, InvalidSettings, UnknownKind
from backstay.handlers.registry import Registry
from backstay.handlers.spec import HandlerSpec, describe
from backstay.model.policy.policy import change

if TYPE_CHECKING:
    from pathlib import Path as OnlyForTypes


class Colour(Enum):
    RED = "red"


@dataclass
class Address:
    street: str
    since: date


class Item(msgspec.Struct):
    name: str
    price: Decimal


class Order(BaseModel):
    number: int
    at: datetime


class OwnContext(Context):
    """A richer context, as the worker has one."""


class Unknown:
    """A class that JSON cannot hold."""


async def send(user_id: int, subject: str = "hello", *, ratio: float = 1.0, urgent: bool = False) -> str:
    """Send one mail.

    And more about it.
    """
    return f"{user_id}{subject}{ratio}{urgent}"


def everything(  # type: ignore[no-untyped-def]  # a parameter without annotation is one of the cases
    number: int,
    colour: Colour,
    address: Address,
    items: list[Item],
    job: uuid.UUID,
    at: datetime,
    waits: timedelta,
    mode: Literal["fast", "slow"],
    note: str | None,
    pair: tuple[int, str],
    order: Order,
    anything,
) -> Address:
    return address


def refusal(spec: HandlerSpec, *args: Any, **kwargs: Any) -> InvalidArguments:
    with pytest.raises(InvalidArguments) as caught:
        spec.bind(args, kwargs)
    return caught.value


def test_a_function_is_described_by_its_signature() -> None:
    spec = describe(send, queue="mail", aliases=("send_mail",))

    assert (spec.kind, spec.queue, spec.runs_in) == ("send", "mail", "loop")
    assert spec.description == "Send one mail."
    assert spec.is_async
    assert not spec.wants_context
    assert describe(everything).runs_in == "thread"


def test_arguments_by_position_and_by_name_are_stored_by_name() -> None:
    spec = describe(send)

    assert json.loads(spec.bind((7, "hi"), {"urgent": True})) == {
        "user_id": 7,
        "subject": "hi",
        "urgent": True,
    }
    assert json.loads(spec.bind((), {"user_id": 7})) == {"user_id": 7}


def test_what_was_not_given_is_left_to_the_functions_default() -> None:
    spec = describe(send)

    assert spec.unpack('{"user_id":7}') == {"user_id": 7}


@pytest.mark.parametrize(
    ("args", "kwargs", "field"),
    [
        (("7",), {}, "user_id"),
        ((True,), {}, "user_id"),
        ((7.0,), {}, "user_id"),
        ((None,), {}, "user_id"),
        ((7,), {"subject": 8}, "subject"),
        ((7,), {"subject": uuid.UUID(int=1)}, "subject"),
        ((7,), {"ratio": "1"}, "ratio"),
        ((7,), {"ratio": True}, "ratio"),
        ((7,), {"urgent": 1}, "urgent"),
        ((7,), {"user_id": 7}, "user_id"),
        ((7,), {"cc": "x"}, "cc"),
        ((7,), {"cc": object()}, "cc"),
        ((), {}, "user_id"),
        ((), {"subject": "x"}, "user_id"),
        ((7, "x", 1.0), {}, ""),
    ],
)
def test_a_call_that_does_not_fit_is_refused_with_the_field(
    args: tuple[Any, ...], kwargs: dict[str, Any], field: str
) -> None:
    error = refusal(describe(send), *args, **kwargs)

    assert (error.kind, error.field) == ("send", field)


def test_an_int_fits_where_a_float_is_asked_for() -> None:
    spec = describe(send)

    assert spec.unpack(spec.bind((7,), {"ratio": 2})) == {"user_id": 7, "ratio": 2.0}


def test_the_field_is_named_with_its_way_into_the_value() -> None:
    def ship(items: list[Item]) -> None: ...

    error = refusal(describe(ship), [{"name": "a", "price": "1"}, {"name": 2, "price": "1"}])

    assert error.field == "items[1].name"


def test_rich_types_come_back_as_they_were() -> None:
    spec = describe(everything)
    given = {
        "number": 1,
        "colour": Colour.RED,
        "address": Address("Main", date(2020, 1, 2)),
        "items": [Item("pen", Decimal("1.10"))],
        "job": uuid.UUID(int=7),
        "at": datetime(2024, 1, 1, tzinfo=UTC),
        "waits": timedelta(minutes=5),
        "mode": "fast",
        "note": None,
        "pair": (1, "x"),
        "order": Order(number=1, at=datetime(2024, 1, 1, tzinfo=UTC)),
        "anything": {"free": [1, None]},
    }

    assert spec.unpack(spec.bind((), given)) == given


def test_a_model_that_does_not_fit_is_refused() -> None:
    def take(order: Order) -> None: ...

    assert refusal(describe(take), {"number": "x", "at": "2024-01-01T00:00:00Z"}).field == "order"


def test_values_json_cannot_hold_are_refused_with_a_pointer() -> None:
    def take(value: Any) -> None: ...

    with pytest.raises(InvalidPayload) as caught:
        describe(take).bind((), {"value": {"a": float("nan")}})

    assert caught.value.pointer == "/value/a"


def test_constraints_of_annotations_are_checked() -> None:
    def take(percent: Annotated[int, msgspec.Meta(ge=0, le=100)]) -> None: ...

    assert refusal(describe(take), 101).field == "percent"


@pytest.mark.parametrize("text", ['{"user_id":"7"}', '{"user_id":7,"gone":1}', "{}", "[]", "{", "nonsense"])
def test_stored_arguments_that_no_longer_fit_are_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="send"):
        describe(send).unpack(text)


def test_a_first_parameter_annotated_context_is_no_argument() -> None:
    def plain(ctx: Context, user_id: int) -> None: ...
    def richer(ctx: OwnContext, /, user_id: int) -> None: ...

    for function in (plain, richer):
        spec = describe(function)
        assert spec.wants_context
        assert spec.unpack(spec.bind((7,), {})) == {"user_id": 7}


def test_context_may_be_imported_for_type_checking_only() -> None:
    namespace: dict[str, Any] = {}
    source = "from __future__ import annotations\ndef handle(ctx: Context, n: int) -> None: ..."
    exec(source, namespace)

    assert describe(namespace["handle"]).wants_context


def test_local_classes_are_found_among_the_names_handed_in() -> None:
    @dataclass
    class Local:
        n: int

    def take(value: Local) -> None: ...

    spec = describe(take, names={"Local": Local})

    assert spec.unpack(spec.bind((Local(1),), {})) == {"value": Local(1)}


def test_functions_that_cannot_be_handlers_are_refused() -> None:
    def variable(*numbers: int) -> None: ...
    def keywords(**numbers: int) -> None: ...
    def positional(number: int, /) -> None: ...
    def late(number: int, ctx: Context) -> None: ...
    def named(*, ctx: Context) -> None: ...
    def unresolved(path: OnlyForTypes) -> None: ...
    def foreign(value: Unknown) -> None: ...
    def foreign_result() -> Unknown:
        return Unknown()

    def generator() -> Any:
        yield 1

    reasons: dict[Callable[..., Any], str] = {
        variable: r"\*numbers has no fixed names",
        keywords: r"\*\*numbers has no fixed names",
        positional: "number is positional-only",
        late: "must be the first parameter",
        named: "ctx is passed by position",
        unresolved: "OnlyForTypes.*TYPE_CHECKING",
        foreign: "Unknown",
        foreign_result: "its result",
        generator: "it yields",
        Unknown: "must be a function",
    }
    for function, reason in reasons.items():
        with pytest.raises(InvalidSettings, match=reason):
            describe(function)


def test_a_function_runs_only_where_it_can() -> None:
    with pytest.raises(InvalidSettings, match="would block it"):
        describe(everything, runs_in="loop")
    with pytest.raises(InvalidSettings, match="needs the loop"):
        describe(send, runs_in="thread")

    assert describe(send, runs_in="process").runs_in == "process"


@pytest.mark.parametrize("odd", ["proces", "Process", "", 1, ["process"]])
def test_a_place_that_does_not_exist_is_refused_where_the_handler_is_made(odd: Any) -> None:
    app = Backstay("sqlite://")

    with pytest.raises(InvalidSettings, match="runs_in of 'everything' cannot be") as refused:
        app.job(runs_in=odd, timeout="1s")(everything)

    assert str(refused.value).endswith(f"cannot be {odd!r}: it is 'loop', 'thread' or 'process'")


def test_parameters_may_have_any_name() -> None:
    def odd(_private: int, __hidden: int, self: int, kind: int = 4) -> None: ...

    spec = describe(odd)

    assert spec.unpack(spec.bind((1, 2, 3), {})) == {"_private": 1, "__hidden": 2, "self": 3}


def test_results_come_back_in_the_annotated_type() -> None:
    spec = describe(everything)
    result = Address("Main", date(2020, 1, 2))

    assert spec.decode_result(spec.encode_result(result)) == result
    assert spec.encode_result(None) is None
    assert spec.decode_result(None) is None
    with pytest.raises(InvalidPayload, match="everything"):
        spec.decode_result('{"street":7}')


def test_a_result_json_cannot_hold_is_refused() -> None:
    with pytest.raises(InvalidPayload, match="result") as caught:
        describe(send).encode_result({"a": float("inf")})

    assert caught.value.pointer == "/a"


def test_a_kinds_own_limits_hold_for_its_arguments_and_results() -> None:
    spec = describe(send, policy=change(max_payload_bytes=1024))

    with pytest.raises(InvalidPayload, match="more than the 1,024 allowed"):
        spec.bind((7, "x" * 1024), {})
    with pytest.raises(InvalidPayload, match="result: 12 bytes"):
        spec.encode_result("x" * 10, limit_bytes=10)


def test_the_schema_shows_types_defaults_and_what_is_required() -> None:
    schema = describe(send).schema

    assert schema["required"] == ["user_id"]
    assert schema["additionalProperties"] is False
    assert schema["properties"]["user_id"] == {"type": "integer"}
    assert schema["properties"]["subject"] == {"type": "string", "default": "hello"}
    assert "$defs" in describe(everything).schema


def test_the_fingerprint_changes_with_queue_policy_and_arguments() -> None:
    def send_more(user_id: int) -> None: ...

    prints = {
        describe(send).fingerprint,
        describe(send, queue="mail").fingerprint,
        describe(send, policy=change(max_attempts=3)).fingerprint,
        describe(send_more, kind="send").fingerprint,
    }

    assert len(prints) == 4
    assert describe(send).fingerprint == describe(send, aliases=("old",)).fingerprint


def test_kinds_are_found_by_name_and_by_retired_name() -> None:
    registry = Registry()
    spec = registry.add(describe(send, aliases=("send_mail",)))

    assert registry.get("send") is registry.get("send_mail") is spec
    assert "send_mail" in registry
    assert list(registry) == [spec]
    assert registry.kinds() == ("send",)


def test_an_unknown_kind_is_refused_with_the_nearest_one() -> None:
    registry = Registry()
    registry.add(describe(send, kind="send_welcome"))

    with pytest.raises(UnknownKind, match="send_welcome") as caught:
        registry.get("send_welcom")

    assert caught.value.__notes__ == ["Did you mean 'send_welcome'?"]


def test_a_name_is_given_once() -> None:
    registry = Registry()
    registry.add(describe(send, aliases=("old",)))

    with pytest.raises(InvalidSettings, match=r"'send' is taken by .*send"):
        registry.add(describe(everything, kind="send"))
    with pytest.raises(InvalidSettings, match="'old' is taken"):
        registry.add(describe(everything, aliases=("old",)))
    with pytest.raises(InvalidSettings, match="'send' is taken"):
        registry.declare("send")

    assert len(registry) == 1


def test_a_declared_kind_takes_any_keywords_and_cannot_run_here() -> None:
    registry = Registry()
    spec = registry.declare("elsewhere.report", queue="reports")

    assert spec.bind((), {"a": 1}) == '{"a":1}'
    assert spec.queue == "reports"
    assert spec.decode_result('{"b":2}') == {"b": 2}
    assert registry.handled() == ()
    with pytest.raises(InvalidArguments, match="keyword arguments only"):
        spec.bind((1,), {})
    with pytest.raises(InvalidArguments, match="only declared"):
        spec.unpack("{}")


def test_names_of_kinds_and_queues_are_checked() -> None:
    with pytest.raises(InvalidPayload, match="queue"):
        describe(send, queue="no spaces")
    with pytest.raises(InvalidPayload, match="kind"):
        describe(lambda: None)
