"""What callers hand to the client by mistake."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from backstay.client.arguments import job_id
from backstay.errors import InvalidJob, JobNotFound
from backstay.model.job import JobId, Stored


def test_an_id_may_be_text() -> None:
    known = uuid.uuid4()

    assert job_id(str(known)) == job_id(known) == known


def test_a_text_that_cannot_be_an_id_is_not_found() -> None:
    with pytest.raises(JobNotFound):
        job_id("order-7")


@pytest.mark.parametrize(
    ("given", "advice"),
    [(Stored(JobId(uuid.uuid4())), r"hand in its \.id"), (7, "hand in a UUID or its text")],
)
def test_what_is_no_id_is_refused_with_advice(given: Any, advice: str) -> None:
    with pytest.raises(InvalidJob, match=advice):
        job_id(given)
