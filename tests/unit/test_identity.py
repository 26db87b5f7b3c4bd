"""The id of a worker: filled in from the environment, and never shared by two starts."""

from __future__ import annotations

import os
import socket
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backstay.errors import InvalidSettings
from backstay.worker.identity import LONGEST_ID, worker_id

START = uuid4()


@pytest.mark.parametrize(
    ("template", "environment", "filled"),
    [
        ("mail-1", {}, "mail-1"),
        ("render-${RENDER_SERVICE_ID}", {"RENDER_SERVICE_ID": "srv-7"}, "render-srv-7"),
        ("render-${RENDER_SERVICE_ID:-local-dev}", {}, "render-local-dev"),
        ("${A}-${B:-b}", {"A": "a", "B": "2"}, "a-2"),
    ],
)
def test_a_template_is_filled_from_the_environment(
    template: str, environment: dict[str, str], filled: str
) -> None:
    """ENG-042."""
    assert worker_id(template, environment, START) == f"{filled}-{START.hex[-12:]}"


@pytest.mark.parametrize("template", [None, ""])
def test_without_a_template_host_and_process_name_the_worker(template: str | None) -> None:
    filled = f"{socket.gethostname()}-{os.getpid()}"

    assert worker_id(template, {}, START) == f"{filled}-{START.hex[-12:]}"


@pytest.mark.parametrize(
    ("template", "word"),
    [
        ("render-${RENDER_SERVICE_ID}", "RENDER_SERVICE_ID, which is not set"),
        ("render-${EMPTY}", "EMPTY, which is not set"),
        ("render-${not closed", "write ${NAME} or plain text"),
        ("render-${1st}", "write ${NAME} or plain text"),
        ("   ", "write ${NAME} or plain text"),
        ("w" * LONGEST_ID, "longer than"),
    ],
)
def test_an_id_that_cannot_be_filled_in_is_refused(template: str, word: str) -> None:
    """ENG-042: no id ever contains what should have been replaced."""
    with pytest.raises(InvalidSettings) as refused:
        worker_id(template, {"EMPTY": ""}, START)

    assert word in str(refused.value)


@given(st.text(max_size=60), st.dictionaries(st.sampled_from(["A", "B"]), st.text(max_size=20)))
def test_whatever_the_template_no_id_is_left_half_filled(template: str, environment: dict[str, str]) -> None:
    """ENG-042."""
    try:
        made = worker_id(template, environment, START)
    except InvalidSettings:
        return
    assert "${" not in made
    assert made.strip()


def test_two_starts_of_one_template_have_two_ids() -> None:
    """ENG-042: also of processes of the same service."""
    assert worker_id("mail", {}, uuid4()) != worker_id("mail", {}, uuid4())
