"""What a worker is asked to do is checked before anything is opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay
from backstay.errors import InvalidSettings


def app_with_a_handler(folder: Path) -> Backstay:
    app = Backstay(f"sqlite:///{folder}/jobs.db", settings={"concurrency": 7})

    @app.job
    def work() -> None: ...

    return app


@pytest.mark.parametrize("odd", [-1, 0, "5", 2.0, True, 10_001])
def test_a_concurrency_that_is_no_number_of_slots_is_refused(tmp_path: Path, odd: Any) -> None:
    with pytest.raises(InvalidSettings, match="a whole number from 1 to 10000") as refused:
        app_with_a_handler(tmp_path).worker(concurrency=odd)

    assert str(refused.value).startswith(f"concurrency cannot be {odd!r}: ")


def test_a_worker_has_the_slots_it_was_asked_for_or_those_of_the_settings(tmp_path: Path) -> None:
    app = app_with_a_handler(tmp_path)

    assert app.worker(concurrency=1).slots[0] == 1
    assert app.worker().slots[0] == 7
