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
    "a link that points nowhere": "UPDATE backstay.audit_chain SET audit_id = 99999999 WHERE audit_id = {middle}",
    "two lines exchanged": "UPDATE backstay.audit SET id = -1 WHERE id = {middle};"
    "UPDATE backstay.audit SET id = {middle} WHERE id = {next};"
    "UPDATE backstay.audit SET id = {next} WHERE id = -1",
    "two links exchanged": "UPDATE backstay.audit_chain SET sequence = -1 WHERE audit_id = {middle};"
    "UPDATE backstay.audit_chain SET sequence = sequence - 1 WHERE audit_id = {next};"
    "UPDATE backstay.audit_chain SET sequence = (SELECT sequence + 1 FROM backstay.audit_chain "
    "WHERE audit_id = {next}) WHERE audit_id = {middle}",
    "a hash replaced": "UPDATE backstay.audit_chain SET hash = previous_hash WHERE audit_id = {middle}",
}


async def run_sql(app: Backstay, sql: str) -> None:
    for statement in sql.split(";"):
        await run_one(app, statement)


async def run_one(app: Backstay, statement: str) -> None:
    database: Any = app._connections.database
    rendered = database.dialect.render(statement)
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

    await run_sql(world.app, touch.format(middle=middle, next=ids[len(ids) // 2 + 1]))
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


INSERTED = """
INSERT INTO backstay.audit (at, tenant, actor, action, reason)
SELECT {before}, tenant, 'somebody else', 'job.hold', 'put in' FROM backstay.audit WHERE id = {first}
"""


async def test_a_line_that_is_put_in_between_is_found_though_it_is_chained(world: World) -> None:
    """ENG-112: an inserted line gets a link behind the others, and its date gives it away."""
    ids = await trail(world)
    is_sqlite = world.app.url.startswith("sqlite")
    before = "at - 7200000000" if is_sqlite else "at - interval '2 hours'"

    await run_sql(world.app, INSERTED.format(before=before, first=ids[0]))
    await world.app.audit_chain.extend()
    report = await world.app.audit_chain.verify()

    [broken] = report.broken
    assert (broken.tenant, broken.sequence) == (TENANT, len(ids) + 1)
    assert "was put in later" in broken.problem


async def test_a_link_that_is_put_in_between_is_found(world: World) -> None:
    ids = await trail(world)
    middle = ids[len(ids) // 2]
    await run_sql(world.app, INSERTED.format(before="at", first=ids[0]))

    # Room is made for it, from behind.
    for audit_id in reversed(ids[len(ids) // 2 :]):
        await run_sql(
            world.app, f"UPDATE backstay.audit_chain SET sequence = sequence + 1 WHERE audit_id = {audit_id}"
        )
    await run_sql(
        world.app,
        f"""
        INSERT INTO backstay.audit_chain (tenant, sequence, audit_id, previous_hash, hash, chained_at)
        SELECT link.tenant, link.sequence - 1, (SELECT max(id) FROM backstay.audit), link.previous_hash,
               link.hash, link.chained_at
        FROM backstay.audit_chain AS link WHERE link.audit_id = {middle}
        """,
    )
    report = await world.app.audit_chain.verify()

    assert [one.sequence for one in report.broken] == [len(ids) // 2 + 1]


WRITERS, LINES = 10, 12


async def test_ten_writers_and_chainers_at_once_leave_no_gap(world: World) -> None:
    """ENG-113: lines become visible in any order, while several chain them; each has one link, without a gap."""

    async def write(writer: int) -> None:
        for number in range(LINES):
            await world.app.quotas.set(
                number, tenant=TENANT, queue=f"q{writer}", reason="more", by=f"w{writer}"
            )

    async def chain() -> None:
        for _ in range(LINES):
            await world.app.audit_chain.extend()

    await asyncio.gather(*(write(writer) for writer in range(WRITERS)), chain(), chain())
    await world.app.audit_chain.extend()
    report = await world.app.audit_chain.verify()
    links = await world.app._enqueuer.stores.service.audit_chain.links("", after=0, limit=1000)
    of_tenant = await world.app._enqueuer.stores.service.audit_chain.links(TENANT, after=0, limit=1000)
    written = [link for link in (*links, *of_tenant) if link.line and link.line.actor.startswith("w")]

    assert report.is_whole
    assert report.unchained == 0
    assert len(written) == len({link.audit_id for link in written}) == WRITERS * LINES
    assert [link.sequence for link in of_tenant] == list(range(1, len(of_tenant) + 1))
