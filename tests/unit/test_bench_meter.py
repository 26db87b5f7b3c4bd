"""What the benchmark makes of the files that handlers write."""

from __future__ import annotations

import struct
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from bench import adapter
from bench.session import Meter
from bench.workloads import told_every


def told(folder: Path, process: str, *times: int, every: int = 1) -> None:
    (folder / f"{process}.handled-{every}").write_bytes(b"".join(struct.pack("<Q", time) for time in times))


def test_the_clock_runs_from_when_the_last_process_has_begun(tmp_path: Path) -> None:
    told(tmp_path, "early", 100, 200, 300, 400, every=10)
    told(tmp_path, "late", 250, 350, every=10)

    first, handled_before = Meter(tmp_path).all_at_work(2) or (0, 0)

    assert (first, handled_before) == (250, 20)


def test_one_process_is_counted_from_its_first_job(tmp_path: Path) -> None:
    told(tmp_path, "only", 100, 200)

    assert Meter(tmp_path).all_at_work(1) == (100, 0)


def test_processes_that_never_had_a_job_were_not_at_work_together(tmp_path: Path) -> None:
    told(tmp_path, "only", 100, 200)
    told(tmp_path, "idle")

    assert Meter(tmp_path).all_at_work(2) is None


def test_how_many_jobs_were_handled_is_known_within_what_a_record_stands_for(tmp_path: Path) -> None:
    told(tmp_path, "first", 100, 200, every=10)
    told(tmp_path, "second", 100, every=10)

    assert (Meter(tmp_path).handled(), Meter(tmp_path).handled_at_most()) == (12, 30)


def test_the_start_of_a_handler_is_found_by_when_its_job_was_sent(tmp_path: Path) -> None:
    (tmp_path / "one.started-1").write_bytes(struct.pack("<QQQQ", 100, 130, 200, 260))

    assert Meter(tmp_path).started() == {100: 130, 200: 260}


def test_a_record_stands_for_a_small_part_of_a_drain_whoever_drains_it() -> None:
    assert [told_every(jobs) for jobs in (100, 2_000, 40_000, 150_000)] == [1, 10, 200, 200]


def test_handlers_tell_of_each_so_many_th_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "FOLDER", tmp_path)
    meter = adapter.Meter(every=10)

    for _ in range(25):
        meter.note()

    assert (Meter(tmp_path).handled(), Meter(tmp_path).handled_at_most()) == (21, 30)


def test_threads_of_one_process_are_counted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adapter, "FOLDER", tmp_path)
    meter = adapter.Meter(every=10)

    with ThreadPoolExecutor(8) as threads:
        for _ in range(2_000):
            threads.submit(meter.note)

    assert Meter(tmp_path).handled_at_most() == 2_000


def test_a_process_is_one_at_work_also_if_two_threads_begin_to_tell_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "FOLDER", tmp_path)

    for meter in (adapter.Meter(), adapter.Meter()):
        meter.note()

    assert Meter(tmp_path).handled() == 2
    assert Meter(tmp_path).all_at_work(2) is None
