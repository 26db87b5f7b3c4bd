"""When a worker process is replaced, how soon the next one starts, and what others are told of it."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest

from backstay.errors import InvalidSettings
from backstay.model.text.sizes import megabytes
from backstay.supervisor.health import Health
from backstay.supervisor.rules import Limits, pause_before_restart, why_replace
from backstay.worker.supervisor_link import Report

NO_LIMITS = Limits()


def test_a_process_without_limits_stays() -> None:
    assert why_replace(Report(settled=10**9, slots=5), 10**6, NO_LIMITS) is None


@pytest.mark.parametrize(
    ("report", "rss_mb", "told"),
    [
        (Report(settled=100), 1, "it has settled 100 jobs"),
        (Report(settled=99), 513, "it uses 513 MB"),
        (Report(slots=5, tainted=3), 1, "3 of its 5 slots are kept by handlers that ignore their time limit"),
        (Report(settled=99, slots=5, tainted=2), 512, None),
    ],
)
def test_a_process_is_replaced_for_what_it_has_come_to(report: Report, rss_mb: int, told: str | None) -> None:
    assert why_replace(report, rss_mb, Limits(jobs=100, memory_mb=512)) == told


def test_the_first_death_is_followed_at_once_and_a_series_ever_later() -> None:
    assert [pause_before_restart(deaths) for deaths in range(8)] == [0, 0, 0.5, 1, 2, 4, 8, 16]
    assert pause_before_restart(10**6) == 30


@pytest.mark.parametrize(
    ("written", "read"), [("512MB", 512), ("1.5 GB", 1536), (300, 300), ("300", 300), ("2g", 2048)]
)
def test_an_amount_of_memory_is_read(written: str | int, read: int) -> None:
    assert megabytes(written, field="it") == read


@pytest.mark.parametrize("written", ["", "0", "much", "5kb", "-1", "1e3MB"])
def test_what_is_no_amount_of_memory_is_refused(written: str) -> None:
    with pytest.raises(InvalidSettings, match="--max-memory is"):
        megabytes(written, field="--max-memory")


def test_health_files_say_what_is_so_now(tmp_path: Path) -> None:
    (tmp_path / "ready").touch()

    health = Health(tmp_path, {})
    names = [sorted(path.name for path in tmp_path.iterdir())]
    for is_ready in (True, False, True):
        health.tell(is_ready=is_ready, status="")
        names.append(sorted(path.name for path in tmp_path.iterdir()))
    health.leave()
    names.append(sorted(path.name for path in tmp_path.iterdir()))
    health.close()

    assert names == [["live"], ["live", "ready"], ["live"], ["live", "ready"], ["live"]]
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InvalidSettings, match="cannot keep health files in"):
        Health(tmp_path / "file" / "health", {})


def test_a_health_folder_that_was_lost_is_made_again(tmp_path: Path) -> None:
    health = Health(tmp_path / "run/health", {})
    shutil.rmtree(tmp_path / "run")

    health.tell(is_ready=True, status="")

    assert sorted(path.name for path in (tmp_path / "run/health").iterdir()) == ["live", "ready"]


def test_trouble_with_the_health_folder_is_told_once_each_time_it_begins(tmp_path: Path) -> None:
    events: list[str] = []

    def emit(event: str, /, **facts: object) -> None:
        events.append(f"{event}: {facts['error']}")

    folder = tmp_path / "health"
    health = Health(folder, {})
    for _ in range(2):
        shutil.rmtree(folder)
        folder.touch()
        for _ in range(3):
            health.tell(is_ready=True, status="", emit=emit)
        folder.unlink()
        health.tell(is_ready=True, status="", emit=emit)

    assert events == ["health.failed: File exists"] * 2
    assert sorted(path.name for path in folder.iterdir()) == ["live", "ready"]


def test_a_health_folder_in_trouble_keeps_nobody_from_leaving(tmp_path: Path) -> None:
    health = Health(tmp_path / "health", {})
    shutil.rmtree(tmp_path / "health")
    (tmp_path / "health").touch()

    health.leave()
    health.close()


def test_systemd_is_told_although_the_health_folder_is_in_trouble(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
        service.bind(address)
        service.settimeout(5)
        health = Health(tmp_path / "health", {"NOTIFY_SOCKET": address})
        shutil.rmtree(tmp_path / "health")
        (tmp_path / "health").touch()

        health.tell(is_ready=True, status="all is well")

        assert service.recv(1000).decode().splitlines() == ["READY=1", "WATCHDOG=1", "STATUS=all is well"]


def test_systemd_is_told(tmp_path: Path) -> None:
    address = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
        service.bind(address)
        service.settimeout(5)
        health = Health(None, {"NOTIFY_SOCKET": address})

        health.tell(is_ready=True, status="2 of 2 processes are ready")
        health.tell(is_ready=True, status="2 of 2 processes are ready")
        health.leave()

        told = [service.recv(1000).decode().splitlines() for _ in range(3)]
    assert told[0] == ["READY=1", "WATCHDOG=1", "STATUS=2 of 2 processes are ready"]
    assert told[1][0] == "WATCHDOG=1"
    assert told[2] == ["STOPPING=1"]
