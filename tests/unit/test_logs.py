"""What a program's log holds when something was raised, and when a fact has the name of a part of the line."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from backstay.settings.job_logs import job_log
from backstay.settings.logs import configure_logging

both = pytest.mark.parametrize("as_json", [True, False])


@dataclass
class Log:
    """What is written for as long as the log is open."""

    capsys: pytest.CaptureFixture[str]

    @contextmanager
    def open(self, *, as_json: bool) -> Iterator[None]:
        log = logging.getLogger("backstay")
        handlers, level, propagate = log.handlers[:], log.level, log.propagate
        configure_logging(json=as_json)
        try:
            yield
        finally:
            log.handlers[:], log.propagate = handlers, propagate
            log.setLevel(level)

    def text(self) -> str:
        """All of it, without its colours."""
        return re.sub(r"\x1b\[[\d;]*m", "", "".join(self.capsys.readouterr()))

    def line(self) -> dict[str, Any]:
        """The only line."""
        [written] = self.text().splitlines()
        told: dict[str, Any] = json.loads(written)
        return told


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Log:
    """As on a terminal, where lines for people are at their most talkative."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    return Log(capsys)


def charge(card: str) -> None:
    """Fail with a secret in the message, in a frame that holds another."""
    pin = f"planted-{card}"
    raise ValueError(f"refused, password=hunter22, {len(pin)} digits")


def charge_and_tell(**facts: Any) -> None:
    try:
        charge("local")
    except ValueError:
        job_log(kind="pay").exception("charge.failed", **facts)


def test_a_traceback_on_the_terminal_shows_no_values_of_variables(log: Log) -> None:
    with log.open(as_json=False):
        charge_and_tell(order=7)

    told = log.text()
    assert "charge.failed" in told
    assert "in charge" in told
    assert "planted-local" not in told


def test_the_message_of_an_exception_is_redacted_on_the_terminal(log: Log) -> None:
    with log.open(as_json=False):
        charge_and_tell(error="mine")

    told = log.text()
    assert "ValueError: refused, password=***, 13 digits" in told
    assert "mine" in told
    assert "hunter22" not in told


def test_a_line_for_machines_tells_what_was_raised(log: Log) -> None:
    """ENG-149."""
    with log.open(as_json=True):
        charge_and_tell(order=7)

    told = log.line()
    error = told["error_details"]
    assert (told["message"], told["level"], told["context"]) == ("charge.failed", "error", {"order": 7})
    assert (error["name"], error["message"]) == ("ValueError", "refused, password=***, 13 digits")
    assert "in charge" in error["stack"]
    assert "hunter22" not in json.dumps(told)


def test_a_line_tells_of_an_exception_without_a_message(log: Log) -> None:
    with log.open(as_json=True):
        job_log().error("charge.failed", exc_info=KeyError())

    assert log.line()["error_details"] == {"name": "KeyError", "message": "", "stack": "KeyError"}


@both
def test_where_nothing_was_raised_nothing_is_told(log: Log, as_json: bool) -> None:
    with log.open(as_json=as_json):
        job_log().exception("charge.failed")

    told = log.text()
    assert "charge.failed" in told
    assert "error_details" not in told
    assert "NoneType" not in told


@both
def test_an_exception_that_is_a_fact_is_redacted(log: Log, as_json: bool) -> None:
    with log.open(as_json=as_json):
        job_log().warning("charge.failed", error=ValueError("password=hunter22"), exception=KeyError("pin=1"))

    told = log.text()
    assert "ValueError: password=***" in told
    assert "KeyError: 'pin=1'" in told
    assert "Logging error" not in told


def test_facts_with_the_names_of_the_lines_own_are_kept_beside_them(log: Log) -> None:
    with log.open(as_json=True):
        job_log().info("customer.rated", level="gold", timestamp="yesterday", message="hello")

    told = log.line()
    assert (told["message"], told["level"]) == ("customer.rated", "info")
    assert told["timestamp"].endswith("Z")
    assert told["context"] == {"level_": "gold", "timestamp_": "yesterday", "message_": "hello"}


def test_facts_with_such_names_are_kept_on_the_terminal(log: Log) -> None:
    with log.open(as_json=False):
        job_log().info("customer.rated", level="gold", timestamp="yesterday", message="hello")

    told = log.text()
    assert "[info     ] customer.rated" in told
    for expected in ("level_=gold", "timestamp_=yesterday", "message_=hello"):
        assert expected in told


def test_what_was_raised_and_a_fact_called_error_details_are_both_told(log: Log) -> None:
    with log.open(as_json=True):
        job_log().error("charge.failed", exc_info=ValueError("no"), error_details="code 7")

    told = log.line()
    assert (told["error_details"]["name"], told["context"]) == ("ValueError", {"error_details_": "code 7"})


@both
def test_the_arguments_of_a_message_are_put_into_it(log: Log, as_json: bool) -> None:
    with log.open(as_json=as_json):
        logging.getLogger("backstay.shop").info("order %s of %s", 7, "Ada")

    assert "order 7 of Ada" in log.text()
