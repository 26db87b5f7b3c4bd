"""Tests of the FastAPI application."""

from collections.abc import Iterator

import fastapi_shop
import pytest
from fastapi.testclient import TestClient

from backstay import Backstay
from backstay.testing import SyncHarness


@pytest.fixture
def backstay_application() -> Backstay:
    return fastapi_shop.app


@pytest.fixture
def browser(backstay_sync: SyncHarness) -> Iterator[TestClient]:
    with TestClient(fastapi_shop.make_web(works=False)) as opened:
        yield opened


def test_an_order_has_its_receipt(browser: TestClient, backstay_sync: SyncHarness) -> None:
    placed = browser.post("/orders").json()

    backstay_sync.assert_enqueued(fastapi_shop.send_receipt, order=int(placed["order"]))
    assert backstay_sync.drain().completed == 1
    assert browser.get(f"/jobs/{placed['job']}").json()["result"] == f"receipt for order {placed['order']}"


def test_a_view_without_async_enqueues_as_well(browser: TestClient, backstay_sync: SyncHarness) -> None:
    browser.post("/reports/May")

    backstay_sync.assert_enqueued(fastapi_shop.make_report, month="May")


def test_an_unknown_job_is_not_found(browser: TestClient) -> None:
    assert browser.get("/jobs/01a1ef74-4768-7661-9985-764567fde70d").status_code == 404
