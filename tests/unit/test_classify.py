"""Which class an exception belongs to, whatever it is made of."""

from __future__ import annotations

import errno
import socket
import sqlite3
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest
import sqlalchemy.exc
from hypothesis import given
from hypothesis import strategies as st
from profiles import PASSPORT

from backstay.errors import InvalidPayload, Retry, StoreBusy
from backstay.model.classify import NO_RULES, ErrorClass, ErrorRules, classify

NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC)


class PlainError(Exception):
    """An error with any attributes and nothing known about its type."""

    def __init__(self, message: str = "", **attributes: Any) -> None:
        super().__init__(message)
        self.__dict__.update(attributes)


def class_of(error: BaseException, rules: ErrorRules = NO_RULES) -> str:
    return classify(error, rules).error_class


def library_error(package: str, name: str, base: type[Exception] = Exception) -> Exception:
    """An error as a library that is not installed here would raise it."""
    kind: type[Exception] = type(name, (base,), {"__module__": package})
    return kind()


def http_error(status: int, **headers: str) -> httpx.HTTPStatusError:
    request = httpx.Request("GET", "http://partner.example")
    response = httpx.Response(
        status, request=request, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )
    return httpx.HTTPStatusError("the partner said no", request=request, response=response)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError(), "transient_network"),
        (BrokenPipeError(), "transient_network"),
        (socket.gaierror(-2, "Name or service not known"), "transient_network"),
        (httpx.ConnectError("refused"), "transient_network"),
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.ConnectTimeout("slow"), "transient_network"),
        (TimeoutError(), "timeout"),
        (OSError(errno.ETIMEDOUT, "gone"), "transient_network"),
        (OSError(errno.ENOSPC, "full"), "temporary_resource"),
        (FileNotFoundError("report.pdf"), "not_found"),
        (PermissionError("no"), "permission_denied"),
        (MemoryError(), "temporary_resource"),
        (sqlite3.OperationalError("database is locked"), "database_error"),
        (sqlite3.ProgrammingError("no such column"), "internal_error"),
        (asyncpg.PostgresConnectionError("lost"), "database_error"),
        (asyncpg.DeadlockDetectedError("deadlock"), "database_error"),
        (asyncpg.QueryCanceledError("statement timeout"), "timeout"),
        (asyncpg.InsufficientPrivilegeError("no"), "permission_denied"),
        (asyncpg.UndefinedTableError("no such table"), "internal_error"),
        (sqlalchemy.exc.OperationalError("SELECT 1", {}, Exception("gone")), "database_error"),
        (msgspec.ValidationError("Expected int"), "validation_error"),
        (library_error("pydantic_core._pydantic_core", "ValidationError", ValueError), "validation_error"),
        (library_error("requests.exceptions", "ConnectionError", OSError), "transient_network"),
        (library_error("aiohttp.client_exceptions", "ClientConnectionError"), "transient_network"),
        (library_error("redis.exceptions", "ConnectionError"), "transient_network"),
        (library_error("psycopg.errors", "Error"), "database_error"),
        (library_error("openai", "RateLimitError"), "rate_limit"),
        (library_error("anthropic", "APIConnectionError"), "transient_network"),
        (library_error("aiormq.exceptions", "AMQPConnectionError"), "transient_network"),
        (library_error("botocore.exceptions", "EndpointConnectionError"), "transient_network"),
        (StoreBusy("locked"), "database_error"),
        (InvalidPayload("NaN"), "invalid_input"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_typed_exceptions_are_recognised(error: BaseException, expected: str) -> None:
    """ENG-048, ENG-049."""
    assert class_of(error) == expected


@pytest.mark.parametrize(
    "slip",
    [
        ValueError("invalid literal for int()"),
        TypeError("invalid"),
        KeyError("timeout"),
        AssertionError("429"),
    ],
    ids=lambda slip: type(slip).__name__,
)
def test_a_slip_in_a_handler_is_unknown_whatever_its_text(slip: Exception) -> None:
    assert class_of(slip) == "unknown"


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (400, "validation_error"),
        (401, "authentication_error"),
        (403, "permission_denied"),
        (404, "not_found"),
        (408, "timeout"),
        (410, "not_found"),
        (418, "unknown"),
        (422, "validation_error"),
        (429, "rate_limit"),
        (500, "transient_network"),
        (503, "transient_network"),
        (504, "transient_network"),
    ],
)
def test_an_http_status_decides_where_the_type_is_silent(status: int, expected: str) -> None:
    """ENG-048, ENG-051."""
    by_library = classify(http_error(status))

    assert (by_library.error_class, by_library.status) == (expected, status)
    assert class_of(PlainError(status=status)) == expected
    assert class_of(PlainError(status_code=status)) == expected
    assert class_of(PlainError(response=SimpleNamespace(status=status))) == expected
    assert class_of(PlainError(response={"ResponseMetadata": {"HTTPStatusCode": status}})) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("ECONNRESET", "transient_network"),
        ("ETIMEDOUT", "transient_network"),
        ("ECONNREFUSED", "transient_network"),
        ("RATE_LIMITED", "rate_limit"),
        ("SERVICE_UNAVAILABLE", "transient_network"),
        ("GATEWAY_TIMEOUT", "transient_network"),
        ("LLM_TIMEOUT", "timeout"),
    ],
)
def test_a_code_decides_where_type_and_status_are_silent(code: str, expected: str) -> None:
    """ENG-048."""
    found = classify(PlainError("no idea", code=code))

    assert (found.error_class, found.code) == (expected, code)


@pytest.mark.parametrize(
    ("sqlstate", "expected"),
    [
        ("40001", "database_error"),
        ("08006", "database_error"),
        ("22P02", "invalid_input"),
        ("28P01", "authentication_error"),
        ("42501", "permission_denied"),
        ("42P01", "internal_error"),
        ("57014", "timeout"),
    ],
)
def test_sqlstates_are_read_also_through_sqlalchemy(sqlstate: str, expected: str) -> None:
    wrapped = sqlalchemy.exc.DBAPIError("SELECT 1", {}, PlainError(sqlstate=sqlstate))

    assert class_of(PlainError(pgcode=sqlstate)) == expected
    assert class_of(wrapped) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rate limit reached", "rate_limit"),
        ("HTTP 429", "rate_limit"),
        ("connect ECONNREFUSED 10.0.0.1:443", "transient_network"),
        ("connect ETIMEDOUT", "transient_network"),
        ("Service Unavailable", "transient_network"),
        ("the request timed out", "timeout"),
        ("invalid permit number", "validation_error"),
        ("invalid answer: rate limit", "rate_limit"),
        ("order 4291 is odd", "unknown"),
        ("something else", "unknown"),
    ],
)
def test_text_is_the_last_and_weakest_evidence(text: str, expected: str) -> None:
    """ENG-048."""
    assert class_of(PlainError(text)) == expected
    assert class_of(PlainError(text, status=401)) == "authentication_error"


def test_type_outranks_status_status_code_and_code_text() -> None:
    class Everything(PlainError, ConnectionError):
        pass

    everything = {"status": 404, "code": "RATE_LIMITED"}

    assert class_of(Everything("invalid", **everything)) == "transient_network"
    assert class_of(PlainError("invalid", **everything)) == "not_found"
    assert class_of(PlainError("invalid", code="RATE_LIMITED")) == "rate_limit"


def test_a_profile_adds_its_own_rules_and_they_come_first() -> None:
    rules = ErrorRules(
        exceptions={f"{__name__}.PlainError": "partner_down"},
        statuses={404: "transient_network"},
        codes={"E42": "rate_limit"},
        texts={"Sold Out": "sold_out"},
    )
    own_exceptions, others = (
        ErrorRules(exceptions=rules.exceptions),
        ErrorRules(statuses=rules.statuses, codes=rules.codes, texts=rules.texts),
    )

    assert class_of(PlainError(status=404), own_exceptions) == "partner_down"
    assert class_of(PlainError(status=404), others) == "transient_network"
    assert class_of(PlainError(code="E42"), others) == "rate_limit"
    assert class_of(PlainError("we are sold out, rate limit"), others) == "sold_out"


def test_own_texts_are_asked_also_of_a_slip_that_is_otherwise_unknown() -> None:
    rules = ErrorRules(texts={"rate limit": "rate_limit"})

    assert class_of(ValueError("the partner's rate limit"), rules) == "rate_limit"
    assert class_of(ValueError("the partner's rate limit")) == "unknown"
    assert class_of(TimeoutError("rate limit"), rules) == "rate_limit"


def test_a_rule_holds_for_subclasses_and_by_bare_name() -> None:
    """ENG-048: what a signing service calls unavailable is worth another attempt."""
    unavailable = type("DBUnavailable", (Exception,), {})
    deeper = type("ReplicaUnavailable", (type("QueueUnavailable", (Exception,), {}),), {})

    assert class_of(unavailable(), PASSPORT.rules) == "database_error"
    assert class_of(deeper(), PASSPORT.rules) == "transient_network"


def test_a_group_has_the_class_its_members_agree_on() -> None:
    agreed = ExceptionGroup("both", [ConnectionError(), httpx.ConnectError("refused")])
    mixed = ExceptionGroup("both", [ConnectionError(), FileNotFoundError()])

    assert class_of(agreed) == "transient_network"
    assert class_of(mixed) == "unknown"


def test_asking_for_a_retry_is_a_class_of_its_own() -> None:
    """ENG-051: an explicit Retry is retried even where unknown errors are not."""
    assert classify(Retry("not yet")).error_class == ErrorClass.RETRY_ASKED
    assert classify(Retry(after=30)).retry_after == timedelta(seconds=30)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("120", timedelta(seconds=120)),
        (" 1.5 ", timedelta(seconds=1.5)),
        (format_datetime(NOW + timedelta(minutes=2), usegmt=True), timedelta(minutes=2)),
        (format_datetime(NOW - timedelta(minutes=2), usegmt=True), timedelta(0)),
        ("999999999999", timedelta(days=7)),
        ("-5", None),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_from_the_answer_and_bounded(header: str, expected: timedelta | None) -> None:
    """ENG-056."""
    assert classify(http_error(429, retry_after=header), now=NOW).retry_after == expected
    assert classify(PlainError(headers={"Retry-After": header}), now=NOW).retry_after == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, timedelta(seconds=5)),
        (2.5, timedelta(seconds=2.5)),
        (timedelta(minutes=1), timedelta(minutes=1)),
        (-5, timedelta(0)),
        (10**400, timedelta(days=7)),
        (float("inf"), timedelta(days=7)),
        (float("nan"), None),
        (True, None),
        (object(), None),
    ],
)
def test_a_retry_after_attribute_is_honoured(value: object, expected: timedelta | None) -> None:
    assert classify(PlainError(retry_after=value)).retry_after == expected


def test_a_date_needs_a_clock_to_mean_anything() -> None:
    assert classify(http_error(429, retry_after=format_datetime(NOW, usegmt=True))).retry_after is None


class Nasty(Exception):
    """Raises from every door there is."""

    def __init__(self, failure: BaseException) -> None:
        object.__setattr__(self, "failure", failure)

    def __getattribute__(self, name: str) -> Any:
        raise object.__getattribute__(self, "failure")

    def __str__(self) -> str:
        raise object.__getattribute__(self, "failure")

    __repr__ = __str__


@pytest.mark.parametrize(
    "failure", [ValueError(), SystemExit(), KeyboardInterrupt(), RecursionError(), GeneratorExit()]
)
def test_an_exception_that_raises_from_everything_is_unknown(failure: BaseException) -> None:
    assert class_of(Nasty(failure)) == "unknown"


def test_a_broken_attribute_does_not_hide_the_type() -> None:
    class Broken(ConnectionError):
        @property
        def status(self) -> int:
            raise SystemExit

        def __str__(self) -> str:
            raise SystemExit

    assert class_of(Broken()) == "transient_network"


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30) | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    ["status", "status_code", "code", "response", "headers", "retry_after", "after", "sqlstate"]
)


@given(st.text(), st.dictionaries(names, json_like))
def test_no_attributes_make_it_raise(text: str, attributes: dict[str, Any]) -> None:
    found = classify(PlainError(text, **attributes), now=NOW)

    assert found.error_class in set(ErrorClass)
    assert found.retry_after is None or timedelta(0) <= found.retry_after <= timedelta(days=7)
    assert found.code is None or len(found.code) <= 100
