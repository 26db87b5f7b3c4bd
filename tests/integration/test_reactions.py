"""Reactions of kinds, as an application declares them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay, Cancel, Context, Hopeless, State
from backstay.errors import InvalidSettings
from backstay.records import JobEnded
from backstay.testing import Harness, harness

app = Backstay("sqlite:////nowhere/backstay.db")
seen: list[JobEnded] = []


@app.job(queue="alerts")
async def tell(ended: JobEnded) -> None:
    seen.append(ended)
    if ended.reason == "hopeless":
        raise Hopeless("the alert fails, too")


@app.job(on_completed=tell, on_dead=tell, on_cancelled="tell", on_resolved=tell)
async def work(ctx: Context, how: str, within: str | None = None) -> str:
    if within is not None:
        async with ctx.transaction() as tx:
            if how != "return":
                tx.fail(Hopeless("no") if how == "die" else Cancel("seen enough"))
    if how == "die":
        raise Hopeless("no")
    if how == "stop":
        raise Cancel("seen enough")
    return "secret"


@pytest.fixture(params=["sqlite", "postgresql"])
def backstay(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    seen.clear()
    url = (
        f"sqlite:///{tmp_path}/jobs.db"
        if request.param == "sqlite"
        else request.getfixturevalue("emptied_url")
    )
    with harness(app, url) as opened:
        yield opened


@pytest.mark.parametrize("within", [None, "transaction"])
@pytest.mark.parametrize(
    ("how", "state", "reason"),
    [
        ("return", State.COMPLETED, None),
        ("die", State.DEAD, "hopeless"),
        ("stop", State.CANCELLED, "seen enough"),
    ],
)
async def test_an_end_has_the_job_stored_that_the_kind_declares(
    backstay: Harness, how: str, state: State, reason: str | None, within: str | None
) -> None:
    ran = await backstay.try_job(work, how=how, within=within)

    [reaction] = await backstay.enqueued(tell)
    drained = await backstay.drain()
    [ended] = seen
    assert (ran.job.state, ended.state, ended.reason) == (state, state, reason)
    assert (ended.job_id, ended.kind, ended.ended_at) == (ran.job.id, "work", ran.job.finished_at)
    assert (reaction.queue, reaction.parent_id) == ("alerts", ran.job.id)
    assert "secret" not in str(reaction.args)
    # Its own death has no reaction.
    assert (len(drained), len(await backstay.enqueued(tell))) == (1, 1)


async def test_a_person_who_resolves_a_dead_job_has_a_reaction_stored(backstay: Harness) -> None:
    ran = await backstay.try_job(work, how="die")
    await app.dead_letters.resolve(ran.job.id, by="ann", reason="paid by hand")
    await backstay.drain()

    assert {(ended.state, ended.reason) for ended in seen} == {
        (State.DEAD, "hopeless"),
        (State.RESOLVED, "paid by hand"),
    }


async def test_a_job_that_is_cancelled_before_it_runs_has_a_reaction_stored(backstay: Harness) -> None:
    # A worker that has started has told the database of the kind.
    await backstay.drain()
    handle = await work.enqueue(how="return")
    await handle.cancel("not needed")
    await backstay.drain()

    assert [(ended.state, ended.reason, ended.run) for ended in seen] == [(State.CANCELLED, "not needed", 0)]


def test_a_handler_that_cannot_take_one_value_is_refused_as_a_reaction() -> None:
    own = Backstay("sqlite:////nowhere/backstay.db")

    @own.job
    async def wants_two(one: JobEnded, two: int) -> None: ...

    with pytest.raises(InvalidSettings, match="'wants_two' cannot be a reaction"):

        @own.job(on_dead=wants_two)
        async def dies() -> None: ...

    with pytest.raises(InvalidSettings, match="on_dead must be a handler"):

        @own.job(on_dead=5)
        async def dies_too() -> None: ...
