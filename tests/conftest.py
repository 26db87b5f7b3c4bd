"""What every test may ask for."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import io
import os
import sys
from collections.abc import Generator, Iterator

import pytest

from windlass.testing import PrivatePostgres

# Tests that run side by side are given the width of a terminal; commands whose output is read by a program have none.
os.environ.pop("COLUMNS", None)

TIDYING_SECONDS = 120
"""A test that hung may hang once more while it is tidied away, and its own alarm has rung by then."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """End the process, and tell where it stood, when tidying up does not end: no run may wait for ever."""
    faulthandler.dump_traceback_later(TIDYING_SECONDS, exit=True, file=sys.__stderr__ or 2)
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    call: pytest.CallInfo[None],
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Tell what every task waited for when a test took too long: its traceback ends in the event loop."""
    report = yield
    if call.excinfo is not None and "Timeout" in str(call.excinfo.value):
        report.sections.append(("tasks that were under way", _tasks_under_way()))
    return report


def _tasks_under_way() -> str:
    told = io.StringIO()
    # Those of every loop, unlike asyncio.all_tasks().
    for task in gc.get_objects():
        if isinstance(task, asyncio.Task) and not task.done():
            task.print_stack(file=told)
    return told.getvalue()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PrivatePostgres]:
    """One PostgreSQL server for the whole run, quick instead of safe against a power cut."""
    with PrivatePostgres.start(fsync=False, settings={"max_connections": "200"}) as server:
        yield server
