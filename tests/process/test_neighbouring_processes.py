"""Whether the process of another worker lives is asked of the system, and no clock on the wall matters."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backstay.maintenance.neighbours import process_facts, process_is_gone
from backstay.model.records import Neighbour


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as process:
        yield process
        process.kill()


def neighbour(pid: int) -> Neighbour:
    facts = process_facts(pid)
    assert facts is not None
    return Neighbour("w", pid, facts.started)


def test_a_process_that_lives_is_there_and_one_that_was_killed_is_gone(
    sleeper: subprocess.Popen[bytes],
) -> None:
    other = neighbour(sleeper.pid)
    assert not process_is_gone(other)

    sleeper.kill()
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert process_is_gone(other), "dead, though its parent has not asked for it yet"

    sleeper.wait()
    assert process_is_gone(other)


def test_another_process_with_the_same_number_is_not_the_neighbour(sleeper: subprocess.Popen[bytes]) -> None:
    known = neighbour(sleeper.pid)
    assert known.process_started is not None

    assert process_is_gone(Neighbour("w", known.pid, known.process_started - timedelta(seconds=5)))
    assert not process_is_gone(Neighbour("w", known.pid, None))


def test_a_process_of_somebody_else_is_not_taken_for_dead() -> None:
    assert not process_is_gone(neighbour(1))


def test_a_start_is_dated_by_the_machine_s_own_clock() -> None:
    facts = process_facts()

    assert facts is not None
    since_boot = datetime.fromtimestamp(time.clock_gettime(time.CLOCK_BOOTTIME), UTC)
    assert timedelta(0) <= since_boot - facts.started < timedelta(days=1)
    assert facts.started == neighbour(os.getpid()).process_started


def test_a_process_may_have_any_name(tmp_path: Path) -> None:
    program = Path(os.fsdecode(bytes(tmp_path) + b"/odd) \xff name"))
    program.symlink_to("/bin/sleep")

    with subprocess.Popen([program, "60"]) as process:
        try:
            assert not process_is_gone(neighbour(process.pid))
        finally:
            process.kill()
