"""Measures: what runs have used is kept beside them."""

from __future__ import annotations

from backstay.model.job import JobId
from backstay.model.outcome import Released
from backstay.model.records import Measured
from backstay.testing.contract.support import HOUR, SECOND, Store


async def test_what_runs_have_used_is_kept_beside_them(store: Store) -> None:
    """ENG-104: of every run that was measured, however it ended."""
    failed = await store.claimed()
    await store.stores.claims.measure([(failed, Measured(cpu_ms=1200, peak_rss_mb=300))])
    await store.fail(failed)
    store.later(HOUR)
    await store.promote()
    released = await store.claim_one()
    await store.end(released, Released())
    completing = await store.claim_one()
    under_way = await store.stores.jobs.runs(failed.id)
    store.later(SECOND)
    await store.stores.claims.measure([(completing, Measured(cpu_ms=15, peak_rss_mb=40))] * 2)
    await store.complete(completing)

    runs = await store.stores.jobs.runs(failed.id)

    assert [(run.status, run.cpu_ms, run.peak_rss_mb) for run in runs] == [
        ("failed", 1200, 300),
        ("released", None, None),
        ("completed", 15, 40),
    ]
    assert [(run.epoch, run.run, run.duration_ms) for run in runs][-1] == (completing.epoch, 3, 1000)
    assert (under_way[-1].status, under_way[-1].finished_at, under_way[-1].cpu_ms) == ("started", None, None)
    assert [run.cpu_ms for run in await store.stores.jobs.attempts(failed.id)] == [1200, None]


async def test_figures_of_a_job_that_was_removed_are_dropped(store: Store) -> None:
    kept, gone = await store.claimed(), await store.claimed()
    removed = gone._replace(id=JobId(store.new_id()))

    await store.stores.claims.measure([(removed, Measured(cpu_ms=1, peak_rss_mb=1))])
    await store.stores.claims.measure([(kept, Measured(cpu_ms=2, peak_rss_mb=2))])
    await store.complete(kept)

    assert [run.cpu_ms for run in await store.stores.jobs.runs(kept.id)] == [2]
