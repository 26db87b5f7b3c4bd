"""Clients in every shape of process: several loops, forks, threads, two processes on one file."""

from __future__ import annotations

import asyncio
import fcntl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from program import application
from support import Workshop, run_program

from backstay.options import JobOptions
from backstay.stores.database.sqlite_file import open_file

CLIENTS = Path(__file__).with_name("client_program.py")


def run_client(name: str, url: str) -> list[str]:
    """Run one of the client programs with warnings as errors; it must end well and have nothing to complain of."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(CLIENTS), name, url],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


async def test_one_application_serves_two_event_loops_in_a_row(shop: Workshop) -> None:
    said = run_client("run_twice", shop.url)

    assert said == ["results 1 1", "loops kept 0"]
    assert await shop.states() == {"completed": 2}


async def test_a_forked_child_and_its_parent_both_enqueue(shop: Workshop) -> None:
    said = run_client("fork_after_use", shop.url)

    assert said == ["child 0"]
    assert await shop.states() == {"available": 4}


async def test_eight_threads_enqueue_with_blocking_calls(shop: Workshop) -> None:
    said = run_client("eight_threads", shop.url)

    assert said == ["ids 400"]
    assert await shop.states() == {"available": 400}


async def test_a_blocking_call_on_a_running_loop_is_refused(shop: Workshop) -> None:
    said = run_client("sync_on_loop", shop.url)

    assert said == ["refused enqueue_sync"]
    assert await shop.states() == {}


async def test_a_program_may_leave_without_closing(shop: Workshop) -> None:
    said = run_client("leave_without_closing", shop.url)

    assert said == ["stored True", "stored True"]
    assert await shop.states() == {"available": 2}


async def test_closing_gives_a_file_up_only_once(sqlite_shop: Workshop) -> None:
    path = sqlite_shop.url.removeprefix("sqlite:///")
    shared = open_file(path)

    async def use_and_close() -> None:
        app = application({"url": sqlite_shop.url})
        await app.jobs.enqueue_by_name("note", {"n": 1})
        await app.close()

    await asyncio.to_thread(asyncio.run, use_and_close())
    again = open_file(path)

    assert again is shared
    shared.release()
    again.release()


async def test_a_caller_cancelled_while_its_transaction_opens_blocks_nobody(sqlite_shop: Workshop) -> None:
    app = sqlite_shop.app
    await app.jobs.enqueue_by_name("note", {"n": 0})
    with held_by_another(Path(sqlite_shop.url.removeprefix("sqlite:///") + "-lock")):
        waiting = asyncio.create_task(app.jobs.enqueue_by_name("note", {"n": 1}, JobOptions(key="order-1")))
        await asyncio.sleep(0.2)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    async with asyncio.timeout(3):
        await app.jobs.enqueue_by_name("note", {"n": 2}, JobOptions(key="order-2"))

    assert waiting.cancelled()
    assert await sqlite_shop.states() == {"available": 2}


@contextmanager
def held_by_another(lock: Path) -> Iterator[None]:
    """Keep every writer of the file waiting, as another process would."""
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


async def test_two_processes_write_to_one_file_while_a_third_works_on_it(
    sqlite_shop: Workshop,
) -> None:
    shop = sqlite_shop
    await shop.started_worker(concurrency=10)
    settings = {"url": shop.url, "kind": "note", "jobs": 500}
    writers = [run_program("enqueue", settings, stdout=subprocess.PIPE) for _ in range(2)]

    told = [writer.communicate(timeout=60)[0].decode().split() for writer in writers]
    await shop.all_ended(1000, within=30)

    assert [writer.returncode for writer in writers] == [0, 0]
    ids = [job_id for one in told for job_id in one]
    assert Counter(line.job_id for line in shop.journal("start")) == Counter(ids)
    assert len(ids) == 1000
    assert await shop.rows("PRAGMA integrity_check") == [("ok",)]
