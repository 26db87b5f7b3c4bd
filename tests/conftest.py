"""What every test may ask for."""

from __future__ import annotations

import asyncio
import faulthandler
import gc
import io
import os
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import pytest

from backstay.testing import PrivatePostgres

# Tests that run side by side are given the width of a terminal; commands whose output is read by a program have none.
os.environ.pop("COLUMNS", None)

TIDYING_SECONDS = 120
"""How long a test may take to clear up after its alarm has rung, and its fixtures after it."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """End the process, and tell where it stood, when a test hangs for good: no run may wait forever.

    Its alarm rings once, and what it interrupts may wait again, for a thread or a task that never ends.
    """
    with _at_most(_seconds_of(item) + TIDYING_SECONDS):
        return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    """The same for fixtures: a failure has ended the watch."""
    with _at_most(TIDYING_SECONDS):
        return (yield)


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    faulthandler.dump_traceback_later(seconds, exit=True, file=sys.__stderr__ or 2)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def _seconds_of(item: pytest.Item) -> float:
    own = item.get_closest_marker("timeout")
    return float(own.args[0] if own else item.config.getoption("timeout") or item.config.getini("timeout"))


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
        # By its type: some objects raise when they are asked for their class, Django's unread settings among them.
        if issubclass(type(task), asyncio.Task) and not task.done():
            task.print_stack(file=told)
    return told.getvalue()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PrivatePostgres]:
    """One PostgreSQL server for the whole run, quick instead of safe against a power cut."""
    with PrivatePostgres.start(fsync=False, settings={"max_connections": "200"}) as server:
        yield server
