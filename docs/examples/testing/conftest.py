"""Tells the plugin which application is tested."""

import pytest
from shop import app, charges

from backstay import Backstay


@pytest.fixture
def backstay_application() -> Backstay:
    charges.clear()
    return app
