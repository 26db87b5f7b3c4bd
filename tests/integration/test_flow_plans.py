"""The statements about flows come in by their indexes and look at no more than they are about.

Beside them stand 20,000 open dependencies of others, and as many that are decided.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from plans import BATCH, Hot, Tables, alike, cases

from backstay.composition.connect import open_database
from backstay.stores.database.migrate import migrate
from backstay.stores.database.sqlite import DIALECT, Sqlite

START = uuid.UUID(int=0)
FLOW = uuid.UUID(int=7)
PAGE = 500
MEMBERS = 10
"""How many jobs each flow has."""

HOT: Hot = {
    "flows/concerned": ({"dependencies_pkey"}, 2 * BATCH),
    "flows/lock_held": ({"jobs_pkey"}, BATCH),
    "flows/ended": ({"dependencies_pkey", "jobs_pkey"}, 2 * BATCH),
    "flows/open_dependencies": ({"dependencies_pkey", "jobs_pkey"}, 3 * BATCH),
    "flows/results": ({"dependencies_pkey", "jobs_pkey"}, 3 * BATCH),
    "flows/decide": (set(), BATCH),
    "flows/fill": ({"jobs_pkey"}, BATCH),
    "flows/set_reason": ({"jobs_pkey"}, BATCH),
    "flows/void": ({"dependencies_pkey"}, BATCH),
    "flows/missed": ({"jobs_pkey"}, 2 * PAGE),
    "flows/of_job": ({"dependencies_pkey", "dependencies_of_parent"}, 2),
    "flows/of_running": ({"jobs_pkey", "flow_jobs_pkey"}, 3),
    "flows/known": ({"jobs_pkey"}, BATCH),
    "flows/repoint": (set(), 1),
    "flows/tied": ({"flow_jobs_of_flow", "dependencies_pkey"}, 2 * MEMBERS),
    "flows/members": ({"flow_jobs_of_flow", "jobs_pkey"}, 2 * MEMBERS),
    "flows/progress": ({"flow_jobs_of_flow", "jobs_pkey"}, 2 * MEMBERS),
    "flows/take_place": ({"flow_jobs_pkey"}, 1),
    "flows/add": (set(), 0),
    "flows/join": (set(), 0),
    "flows/tie": (set(), 0),
}
# Known to pass what is decided already.


async def values_for(tables: Tables, name: str) -> dict[str, Any]:
    """What the product would hand to the statement."""
    ties = await tables.driver.fetch(
        f"SELECT job_id, parent_id FROM backstay.dependencies WHERE verdict IS NULL LIMIT {BATCH}"
    )
    children, parents = [tie["job_id"] for tie in ties], [tie["parent_id"] for tie in ties]
    match name:
        case "flows/progress":
            return {"ids": [FLOW]}
        case "flows/tied" | "flows/members":
            return {"id": FLOW}
        case "flows/take_place":
            member = await tables.driver.fetchval("SELECT job_id FROM backstay.flow_jobs LIMIT 1")
            return {"id": member, "new_id": children[0]}
        case "flows/repoint":
            return {"id": parents[0], "new_id": (await tables.ids("available", 1))[0]}
        case "flows/of_job" | "flows/of_running":
            return {"id": children[0]}
        case "flows/add":
            ids = [uuid.uuid4() for _ in range(BATCH)]
            return {"id": ids, "callback_id": [None] * BATCH, **alike(tenant="", name="x", created_by="x")}
        case "flows/decide" | "flows/tie" | "flows/join" | "flows/fill" | "flows/set_reason":
            return {
                "job_id": children,
                "parent_id": parents,
                **alike(place="/page", type="data", condition=None, on_failure="hold", decided="met"),
                **alike(flow_id=FLOW, label=None, new_args="{}", why="because"),
            }
        case _:
            return {"ids": children, "after": START, "limit": PAGE, "tenant": ""}


@cases(HOT)
async def test_on_postgres_a_statement_about_flows_looks_at_no_more_than_it_is_about(
    tables: Tables, plan_cache_mode: str, name: str
) -> None:
    plan = await tables.explain(name, await values_for(tables, name), plan_cache_mode=plan_cache_mode)

    plan.assert_bounded(*HOT[name])


@pytest.mark.parametrize("name", HOT)
async def test_on_sqlite_no_statement_about_flows_scans_a_table(name: str) -> None:
    database = open_database("sqlite://:memory:")
    assert isinstance(database, Sqlite)
    await migrate(database)
    statement = DIALECT.statement(name)
    nothing = dict.fromkeys(statement.values)

    explained = database.file.write(
        lambda connection: connection.execute(f"EXPLAIN QUERY PLAN {statement.sql}", nothing).fetchall()
    )
    plan = [row["detail"] for row in await database._done(explained)]
    await database.close()

    scans = [
        step
        for step in plan
        if re.match(r"SCAN (?!json_each|next|value|clock|CONSTANT ROW)", step) and "INDEX" not in step
    ]
    assert scans == []
