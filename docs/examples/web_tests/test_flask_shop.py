"""Tests of the Flask application."""

import flask_shop
import pytest
from flask.testing import FlaskClient

from backstay import Backstay
from backstay.testing import SyncHarness


@pytest.fixture
def backstay_application() -> Backstay:
    return flask_shop.app


@pytest.fixture
def browser(backstay_sync: SyncHarness) -> FlaskClient:
    flask_shop.make_tables()
    return flask_shop.site.test_client()


def test_an_order_has_its_receipt(browser: FlaskClient, backstay_sync: SyncHarness) -> None:
    placed = browser.post("/orders").get_json()

    backstay_sync.assert_enqueued(flask_shop.send_receipt, order=1)
    assert backstay_sync.drain().completed == 1
    seen = browser.get(f"/jobs/{placed['job']}").get_json()
    assert seen == {"state": "completed", "result": "receipt for order 1 from shop@example.org"}
