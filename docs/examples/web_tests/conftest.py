"""One database for each test, for the jobs and for the tables of the application."""

from pathlib import Path

import pytest


@pytest.fixture
def backstay_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'test.db'}"
