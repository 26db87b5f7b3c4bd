"""Many worker processes on one database share the jobs, and none is run twice."""

from __future__ import annotations

from collections import Counter

from support import Workshop

JOBS = 10_000


async def test_ten_workers_complete_ten_thousand_jobs_exactly_once_each(shop: Workshop) -> None:
    """ENG-033."""
    workers = [shop.start_worker(concurrency=20) for _ in range(10)]
    for worker in workers:
        await worker.has_started()
    ids: list[str] = []
    for first in range(0, JOBS, 1000):
        ids += map(str, await shop.enqueue_many("note", [{"n": first + n} for n in range(1000)]))

    await shop.all_ended(JOBS, within=100)

    runs = shop.journal("start")
    assert Counter(line.job_id for line in runs) == Counter(ids)
    assert [line.run for line in runs] == [1] * JOBS
    assert len(shop.journal("end")) == JOBS
    assert await shop.rows("SELECT sum(attempt), sum(run), sum(lease_epoch) FROM backstay.jobs") == [
        (JOBS, JOBS, 2 * JOBS)
    ]
    assert [worker.events("claim.lost") for worker in workers] == [[]] * 10
    assert len({line.pid for line in runs}) > 1
