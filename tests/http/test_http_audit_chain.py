"""The chain of the audit trail: whole when nobody has touched it, and every touch found."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from http_world import TENANT, World

from backstay import Backstay
from backstay.stores.database.postgres import Postgres
from backstay.stores.database.sqlite import Sqlite

TOUCHES = {
    "a line edited": "UPDATE backstay.audit SET actor = 'somebody else' WHERE id = {middle}",
    "a line's reason edited": "UPDATE backstay.audit SET reason = 'another' WHERE id = {middle}",
    "a line deleted": "DELETE FROM backstay.audit WHERE id = {middle}",
    "a line moved to another tenant": "UPDATE backstay.audit SET tenant = 'globex' WHERE id = {middle}",
    "a link deleted": "DELETE FROM backstay.audit_chain WHERE audit_id = {middle}",
    "two lines exchanged": "UPDATE backstay.audit_chain SET audit_id = audit_id + 100000 WHERE audit_id = {middle}",
    "a hash replaced": "UPDATE backstay.audit_chain SET hash = previous_hash WHERE audit_id = {middle}",
}


async def run_sql(app: Backstay, sql: str) -> None:
    database: Any = app._connections.database
    rendered = database.dialect.render(sql)
    if isinstance(database, Postgres):
        async with database.lane("raw").transaction() as connection:
            await connection.driver.execute(rendered)
        return
    assert isinstance(database, Sqlite)
    await database._done(database.file.write(lambda connection: connection.execute(rendered).fetchall()))


async def trail(world: World, lines: int = 6) -> list[int]:
    """Things that operators did, chained; returns the ids of the tenant's lines in order."""
    for _ in range(lines):
        made = await world[f"operator {TENANT}"].post("/jobs", json={"kind": "add", "args": {"a": 1, "b": 2}})
        await world[f"operator {TENANT}"].post(f"/jobs/{made.json()['id']}/hold", json={"reason": "later"})
    await world.app.audit_chain.extend()
    lines_of = (await world[f"operator {TENANT}"].get("/audit")).json()["items"]
    return sorted(line["id"] for line in lines_of)


async def test_a_trail_that_nobody_touched_is_whole(world: World) -> None:
    """ENG-112."""
    ids = await trail(world)

    report = await world.app.audit_chain.verify()

    assert report.is_whole
    assert report.unchained == 0
    assert {head.tenant: head.sequence for head in report.heads}[TENANT] == len(ids)
    assert await world.app.audit_chain.extend() == 0


@pytest.mark.parametrize("touch", TOUCHES.values(), ids=TOUCHES.keys())
async def test_every_touch_is_found_where_it_was(world: World, touch: str) -> None:
    """ENG-112: the first broken link is named."""
    ids = await trail(world)
    middle = ids[len(ids) // 2]

    await run_sql(world.app, touch.format(middle=middle))
    report = await world.app.audit_chain.verify()

    [broken] = report.broken
    assert (broken.tenant, broken.sequence) in {
        (TENANT, ids.index(middle) + 1),
        (TENANT, ids.index(middle) + 2),
    }


async def test_a_chain_that_was_cut_off_or_made_anew_is_found_by_a_checkpoint(world: World) -> None:
    ids = await trail(world)
    kept = await world.app.audit_chain.heads()

    await run_sql(world.app, f"DELETE FROM backstay.audit_chain WHERE audit_id = {ids[-1]}")
    await run_sql(world.app, f"DELETE FROM backstay.audit WHERE id = {ids[-1]}")
    assert (await world.app.audit_chain.verify()).is_whole
    cut = await world.app.audit_chain.verify(kept)
    await run_sql(world.app, f"UPDATE backstay.audit SET actor = 'somebody else' WHERE id = {ids[0]}")
    await run_sql(world.app, "DELETE FROM backstay.audit_chain")
    await world.app.audit_chain.extend()
    await trail(world, lines=2)
    anew = await world.app.audit_chain.verify(kept)

    assert [one.problem for one in cut.broken] == [f"cut off: it had {len(ids)} links"]
    assert "checkpoint" in anew.broken[-1].problem


async def test_several_who_chain_at_once_leave_no_gap(world: World) -> None:
    for number in range(10):
        await world.app.quotas.set(number, tenant=TENANT, reason="more", by="ann")

    await asyncio.gather(*(world.app.audit_chain.extend() for _ in range(10)))
    report = await world.app.audit_chain.verify()

    assert report.is_whole
    assert report.unchained == 0
