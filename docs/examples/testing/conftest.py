"""Tells the plugin which application is tested."""

import pytest
from shop import app, charges

from windlass import Windlass


@pytest.fixture
def windlass_application() -> Windlass:
    charges.clear()
    return app
