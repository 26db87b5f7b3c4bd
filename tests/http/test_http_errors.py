"""Every error of the client has an answer of its own; what nobody expects is recorded."""

from __future__ import annotations

import inspect
import logging
from datetime import timedelta

import httpx
import pytest
from fastapi import FastAPI
from http_world import TENANT, World

from backstay import errors
from backstay.client.metrics import period_for
from backstay.errors import BackstayError
from backstay.http.errors import NOT_FOUND, STATUSES, UNEXPECTED, install_errors, problem_of
from backstay.model.figures import Period

RAISED = [
    found
    for _, found in inspect.getmembers(errors, inspect.isclass)
    if issubclass(found, BackstayError) and found is not BackstayError
]


@pytest.mark.parametrize("error", RAISED, ids=lambda one: one.__name__)
def test_every_error_is_answered_or_said_to_be_unexpected(error: type[BackstayError]) -> None:
    own = {*STATUSES, *NOT_FOUND, *UNEXPECTED}
    nearest = next((one for one in error.__mro__ if one in own), None)

    assert nearest is not None, f"{error.__name__} needs a line in STATUSES, NOT_FOUND or UNEXPECTED"


def raising(error: BackstayError) -> httpx.AsyncClient:
    """A caller of an API whose only operation fails in this way."""
    site = FastAPI()
    install_errors(site)

    @site.get("/")
    async def fail() -> None:
        raise error

    transport = httpx.ASGITransport(site, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://service.test")


async def test_a_search_that_takes_too_long_says_what_to_ask_instead() -> None:
    async with raising(errors.SearchTooLong(timedelta(seconds=2))) as caller:
        answer = await caller.get("/")

    assert (answer.status_code, answer.json()["code"]) == (422, "search_too_long")
    assert "correlation_id" in answer.json()["detail"]


async def test_what_nobody_expects_is_recorded_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "backstay.http"):
        async with raising(errors.WrongDatabase("the address is 10.0.0.7")) as caller:
            answer = await caller.get("/")

    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "10.0.0.7" not in answer.text
    assert "10.0.0.7" in caplog.text


def test_what_belongs_to_another_tenant_reads_like_what_is_not_there() -> None:
    assert problem_of(errors.JobNotFound("1")).detail == problem_of(errors.NotFound("key", "x")).detail


@pytest.mark.parametrize(
    ("last", "period"),
    [
        ("1h", Period.MINUTE),
        ("47h", Period.MINUTE),
        ("48h", Period.HOUR),
        ("100h", Period.HOUR),
        ("2d", Period.HOUR),
        ("2881m", Period.HOUR),
    ],
)
def test_what_minutes_are_not_kept_for_is_told_from_hours(last: str, period: Period) -> None:
    assert period_for(last) is period


async def test_an_old_key_is_found_among_thousands(quick_world: World) -> None:
    old = (await quick_world.app.api_keys.create("old", tenant=TENANT)).key.prefix
    store = quick_world.app._enqueuer.stores.service.api_keys
    for number in range(1001):
        await store.add(
            f"K{number:07}",
            "0" * 64,
            name="new",
            tenant=TENANT,
            role="viewer",
            scopes=None,
            sees_payloads=False,
            expires_at=None,
            expires_in=None,
            actor="seed",
        )

    revoked = await quick_world[f"admin {TENANT}"].post(f"/keys/{old}/revoke", json={"reason": "lost"})

    assert revoked.status_code == 200, revoked.text
