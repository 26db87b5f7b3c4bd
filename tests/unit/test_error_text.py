"""Whatever an exception does, it becomes short, printable text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.handlers import codec
from backstay.model.outcome import ErrorInfo
from backstay.model.text.error_text import MAX_MESSAGE_BYTES, MAX_TRACEBACK_BYTES, error_info, safe_text


def info(error: BaseException) -> ErrorInfo:
    return error_info(error, error_class="transient")


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_ordinary_error_is_described() -> None:
    error = raised(ValueError("no such user"))

    described = error_info(error, error_class="permanent", code="E7", status=404)

    assert (described.type, described.message) == ("ValueError", "no such user")
    assert (described.error_class, described.code, described.status) == ("permanent", "E7", 404)
    assert "in raised" in described.traceback
    assert "raise error" in described.traceback
    assert described.traceback.endswith("ValueError: no such user")


class Vault(Exception):
    pass


def test_an_error_of_ones_own_is_named_with_its_module() -> None:
    assert info(Vault()).type == f"{__name__}.Vault"


@pytest.mark.parametrize("failure", [RuntimeError, SystemExit, KeyboardInterrupt, RecursionError])
def test_a_message_that_cannot_be_made_does_not_matter(failure: type[BaseException]) -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            raise failure("in __str__")

        __repr__ = __str__

    described = info(raised(Broken()))

    assert failure.__name__ in described.message
    assert "Broken" in described.traceback


def test_a_message_that_is_not_text_does_not_matter() -> None:
    class Broken(Exception):
        def __str__(self) -> str:
            return 7  # type: ignore[return-value]  # that is what is tested

    assert "TypeError" in info(Broken()).message


def test_a_huge_message_is_cut() -> None:
    error = ValueError("\0é" * 25_000_000)

    described = info(raised(error))

    assert len(described.message.encode()) <= MAX_MESSAGE_BYTES
    assert described.message.endswith("… (50,000,000 characters)")
    assert len(described.traceback.encode()) <= MAX_TRACEBACK_BYTES


def test_the_end_of_a_long_traceback_is_kept() -> None:
    error: BaseException = ValueError("x" * 20_000)
    for _ in range(8):
        after = KeyError("y" * 20_000)
        after.__cause__ = error
        error = after
    last = RuntimeError("the last words")
    last.__cause__ = error

    traceback = info(last).traceback

    assert len(traceback.encode()) <= MAX_TRACEBACK_BYTES
    assert traceback.startswith("…")
    assert traceback.endswith("RuntimeError: the last words")


def test_causes_that_go_in_a_circle_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first

    traceback = info(first).traceback

    assert traceback.count("ValueError: first") == 1
    assert traceback.count("ValueError: second") == 1


def test_the_cause_comes_before_its_effect() -> None:
    try:
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise ValueError("outer") from inner
    except ValueError as error:
        traceback = info(error).traceback

    assert traceback.index("inner") < traceback.index("direct cause") < traceback.index("ValueError: outer")


def test_a_suppressed_context_stays_out() -> None:
    outer = ValueError("outer")
    outer.__context__ = KeyError("inner")
    outer.__suppress_context__ = True

    assert "inner" not in info(raised(outer)).traceback


def test_endless_recursion_gives_a_bounded_traceback() -> None:
    def again() -> None:
        again()

    with pytest.raises(RecursionError) as caught:
        again()

    traceback = info(caught.value).traceback
    assert "outer calls left out" in traceback
    assert len(traceback.encode()) <= MAX_TRACEBACK_BYTES


def test_values_of_variables_stay_out() -> None:
    def log_in(password: str) -> None:
        token = password + "-token"
        raise PermissionError(f"refused for {len(token)} letters")

    with pytest.raises(PermissionError) as caught:
        log_in("".join(["hun", "ter2"]))

    assert "hunter2" not in repr(info(caught.value))


def test_what_a_database_would_refuse_is_escaped() -> None:
    described = info(ValueError("a\0b\ud800c\x1b[31m\u202ed\nnext\tline"))

    assert described.message == "a\\x00b\\ud800c\\x1b[31m\\u202ed\nnext\tline"


@given(st.text())
def test_any_text_becomes_storable(text: str) -> None:
    described = info(raised(ValueError(text)))

    codec.encode([described.message, described.traceback])


@given(st.text(), st.integers(40, 200))
def test_text_never_exceeds_its_limit(text: str, max_bytes: int) -> None:
    assert len(safe_text(text, max_bytes=max_bytes).encode()) <= max_bytes
