"""Steps outlive the process that took them."""

from __future__ import annotations

import signal

import pytest
from support import Workshop, eventually

RESCUE = 15


@pytest.mark.parametrize("kind", ["eleven_steps", "eleven_steps_in_thread"])
async def test_a_job_killed_at_its_seventh_step_goes_on_there_on_another_worker(
    shop: Workshop, kind: str
) -> None:
    victim = await shop.started_worker(kinds=[kind], machine="there")
    job_id = await shop.enqueue(kind, path=str(shop.gate()))
    await eventually(lambda: shop.journal("begin-7"), within=10)
    other = await shop.started_worker(kinds=[kind], machine="here")

    victim.signal(signal.SIGKILL)
    shop.gate().touch()
    await shop.all_ended(1, within=RESCUE)

    begun = {n: [(line.run, line.pid) for line in shop.journal(f"begin-{n}")] for n in range(1, 12)}
    first, second = (1, victim.pid), (2, other.pid)
    assert begun == (
        {n: [first] for n in range(1, 7)} | {7: [first, second]} | {n: [second] for n in range(8, 12)}
    )
    steps = await shop.app.jobs.steps(job_id)
    assert [(step.name, step.result, step.run) for step in steps] == [
        (f"part {n}", n, 1 if n < 7 else 2) for n in range(1, 12)
    ]
    assert (await shop.app.jobs.get(job_id)).result == list(range(1, 12))
    assert await other.terminated() == 0
