"""Workers that are killed, freeze, or are taken down by their own jobs."""

from __future__ import annotations

import fcntl
import signal
import time
from pathlib import Path

import pytest
from support import LEASE, SWEEP, WorkerProcess, Workshop, eventually, run_program, whole_lines

# Lease, one sweep, and what a busy machine with two cores adds to it.
RESCUE = LEASE + SWEEP + 6
# A process frozen inside a transaction keeps its rows locked until the database ends that session.
RESCUE_FROM_FROZEN = RESCUE + 6
# Two seconds are promised; far below any tick and lease, and above what a machine with two busy cores may add.
SOON = 10


async def test_a_killed_workers_jobs_are_run_on_another_machine(shop: Workshop) -> None:
    victim = await shop.started_worker(concurrency=5, machine="there")
    ids = await shop.enqueue_many("wait_for_file", [{"path": str(shop.gate())}] * 3)
    await eventually(lambda: len(shop.journal("start")) == 3, within=10)
    other = await shop.started_worker(concurrency=5, machine="here")

    victim.signal(signal.SIGKILL)
    shop.gate().touch()
    await shop.all_ended(3, within=RESCUE)

    for job_id in ids:
        job = await shop.app.jobs.get(job_id)
        first = (await shop.app.jobs.attempts(job_id))[0]
        assert (job.attempt, job.run, first.status, first.attempt) == (2, 2, "crashed", 1)
        assert [(line.run, line.pid) for line in shop.journal("start", job_id=job_id)] == [
            (1, victim.pid),
            (2, other.pid),
        ]
    assert len(shop.journal("end")) == 3
    assert await other.terminated() == 0


async def test_the_jobs_of_a_killed_worker_run_side_by_side_on_its_neighbour(shop: Workshop) -> None:
    """Each waits until all fifty have begun again: one that was kept apart from the others would keep them all."""
    victim = await shop.started_worker(concurrency=50)
    await shop.enqueue_many("wait_for_file", [{"path": str(shop.gate())}] * 50)
    await eventually(lambda: len(shop.journal("start")) == 50, within=30)
    heir = await shop.started_worker(concurrency=50)

    victim.signal(signal.SIGKILL)

    await eventually(
        lambda: len([line for line in shop.journal("start") if line.pid == heir.pid]) == 50, within=60
    )
    assert shop.journal("end") == []
    shop.gate().touch()
    await shop.all_ended(50, within=30)
    assert await heir.terminated() == 0


async def test_a_killed_workers_job_goes_on_at_once_on_the_same_machine(shop: Workshop) -> None:
    """Also that of a worker which has only just started: its neighbour waits neither for a lease nor for its tick."""
    settings = {"concurrency": 1, "lease": "60s", "ticks": False}
    heir = await shop.started_worker(**settings)
    await shop.enqueue("wait_for_file", path=str(shop.gate("first")))
    await eventually(lambda: shop.journal("start"), within=10)
    victim = await shop.started_worker(**settings)
    orphan = await shop.enqueue("wait_for_file", path=str(shop.gate("second")))
    await eventually(lambda: shop.journal("start", job_id=orphan), within=10)

    shop.gate("first").touch()
    victim.signal(signal.SIGKILL)
    await eventually(lambda: len(shop.journal("start", job_id=orphan)) == 2, within=SOON)

    assert [told["reason"] for told in heir.events("worker.declared_dead")] == ["its process is gone"]
    assert [line.pid for line in shop.journal("start", job_id=orphan)] == [victim.pid, heir.pid]


async def is_up_for(shop: Workshop, *, seconds: int) -> bool:
    [[up_for]] = await shop.rows("SELECT EXTRACT(EPOCH FROM now() - pg_postmaster_start_time())")
    return up_for > seconds


@pytest.mark.prove
@pytest.mark.timeout(300)
async def test_a_killed_workers_job_runs_again_within_66_seconds_on_another_machine(shop: Workshop) -> None:
    """At true scale: lease, renewal, tick and leader's lease are those of a worker without any settings."""
    true = {"lease": "60s", "tick": 5, "leader_lease": 11}
    if not shop.url.startswith("sqlite"):
        # Of leases that may have run out while the database was away, nothing is concluded for a lease.
        await eventually(lambda: is_up_for(shop, seconds=60), within=90, every=1)
    heir = await shop.started_worker(**true, machine="here", concurrency=1)
    blocker = await shop.enqueue("wait_for_file", path=str(shop.gate("first")))
    await eventually(lambda: shop.journal("start", job_id=blocker), within=10)
    victim = await shop.started_worker(**true, machine="there")
    orphan = await shop.enqueue("wait_for_file", path=str(shop.gate("second")))
    await eventually(lambda: shop.journal("start", job_id=orphan), within=10)

    shop.gate("first").touch()
    victim.signal(signal.SIGKILL)
    killed = time.monotonic()
    await eventually(lambda: len(shop.journal("start", job_id=orphan)) == 2, within=120)

    assert shop.journal("start", job_id=orphan)[1].pid == heir.pid
    assert shop.journal("start", job_id=orphan)[1].at - killed <= 66


async def test_a_frozen_worker_changes_nothing_when_it_thaws_and_goes_on(shop: Workshop) -> None:
    frozen = await shop.started_worker(worker_timeout=2)
    job_id = await shop.enqueue("wait_for_file", path=str(shop.gate()))
    await eventually(lambda: shop.journal("start"), within=10)
    other = await shop.started_worker(worker_timeout=2)

    await freeze(frozen, shop)
    await eventually(lambda: len(shop.journal("start")) == 2, within=RESCUE_FROM_FROZEN)
    await eventually(lambda: other.events("worker.declared_dead"), within=15)
    shop.gate().touch()
    await shop.all_ended(1, within=10)
    finished = await shop.app.jobs.get(job_id)
    frozen.signal(signal.SIGCONT)

    await eventually(lambda: frozen.events("claim.lost"), within=10)
    await eventually(lambda: frozen.events("worker.replaced"), within=10)
    assert await shop.app.jobs.get(job_id) == finished
    assert (finished.attempt, finished.settled_by) == (2, other.events("worker.started")[0]["worker"])

    assert await other.terminated() == 0
    await shop.enqueue("note", n=1)
    await shop.all_ended(2, within=10)
    assert shop.journal("end")[-1].pid == frozen.pid
    assert await frozen.terminated() == 0


async def test_what_a_killed_client_was_promised_is_stored(shop: Workshop, tmp_path: Path) -> None:
    promised: list[str] = []
    await shop.app.jobs.counts()  # the tables are there
    for round_ in range(5):
        told = tmp_path / f"told-{round_}"
        with told.open("wb") as output:
            client = run_program("enqueue", {"url": shop.url, "kind": "note", "jobs": 10**6}, stdout=output)
        try:
            await eventually(lambda told=told, enough=30 * round_: len(whole_lines(told)) > enough, within=20)
        finally:
            client.kill()
            client.wait()
        promised += whole_lines(told)

    stored = {str(row[0]) for row in await shop.rows("SELECT id FROM backstay.jobs")}

    assert set(promised) <= stored
    assert len(stored) - len(promised) <= 5, "at most the one that each was about to be promised"
    if shop.url.startswith("sqlite"):
        assert await shop.rows("PRAGMA integrity_check") == [("ok",)]


async def freeze(worker: WorkerProcess, shop: Workshop) -> None:
    """Stop the process at a moment when it does not hold the lock of an SQLite file."""
    lock = Path(shop.url.removeprefix("sqlite:///") + "-lock")

    def stopped_without_lock() -> bool:
        worker.signal(signal.SIGSTOP)
        if not lock.exists() or is_free(lock):
            return True
        worker.signal(signal.SIGCONT)
        return False

    await eventually(stopped_without_lock, within=10)


def is_free(lock: Path) -> bool:
    # Another worker may hold it for a moment; one look in ten will find it free.
    with lock.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


@pytest.mark.prove
async def test_a_poison_job_dies_of_its_own_crashes_and_takes_nobody_along(shop: Workshop) -> None:
    half = [{"n": n} for n in range(100)]
    await shop.enqueue_many("note", half)
    poison = await shop.enqueue("poison")
    await shop.enqueue_many("note", half)
    deaths = 0

    async def dead_after_restarts() -> bool:
        nonlocal deaths
        if not shop.workers or not shop.workers[-1].is_running:
            deaths += bool(shop.workers)
            await shop.started_worker(concurrency=10)
        return (await shop.states())["dead"] == 1

    await eventually(dead_after_restarts, within=100, every=0.1)
    await shop.all_ended(200, within=30)

    job = await shop.app.jobs.get(poison)
    attempts = await shop.app.jobs.attempts(poison)
    assert (job.state, job.reason, job.crashes) == ("dead", "crash loop", 3)
    assert [attempt.status for attempt in attempts] == ["crashed"] * 5
    assert await shop.states() == {"completed": 200, "dead": 1}
    assert deaths == 5
    assert await shop.workers[-1].terminated() == 0
