"""The demonstration, played from its beginning to its end by the command that people use."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from backstay_parts.servers import free_port


@pytest.mark.prove
@pytest.mark.timeout(600)
@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_the_demonstration_ends_by_itself_and_every_sum_holds(database: str) -> None:
    """BPC-046: all acts, with few batteries; it exits 0 only if its sums held, and shows what it has counted."""
    command = [sys.executable, "-m", "backstay_passport", "demo", "--units", "2", "--port", str(free_port())]
    done = subprocess.run(
        [*command, *(["--postgres"] if database == "postgres" else [])],
        env={**os.environ, "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{3} rule tests hold", done.stdout)
    for words in ("replay is equal", "PyNaCl", "deleted in a copy", "webhooks"):
        assert words in done.stdout
