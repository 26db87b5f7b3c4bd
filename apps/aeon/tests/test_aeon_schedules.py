"""Schedules: their times, their limits, and what a change of them keeps."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest
from aeon_world import World

BASE = {"name": "n", "job_type": "quick", "payload_template": {"number": 1}}
EVERY_MINUTE = {**BASE, "schedule_type": "interval", "interval_ms": 60_000}


async def made(api: httpx.AsyncClient, **given: Any) -> dict[str, Any]:
    answer = await api.post("/api/schedules", json=given)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def shown(api: httpx.AsyncClient) -> dict[str, Any]:
    found: dict[str, Any] = (await api.get("/api/schedules")).json()[0]
    return found


async def later(world: World, minutes: int) -> None:
    for _ in range(minutes):
        await world.backstay.travel("1m")
        await world.backstay.drain()


async def fires(world: World) -> list[datetime]:
    rows = await world.database.rows(
        "SELECT fire_time FROM backstay.fires JOIN public.jobs ON jobs.id = fires.job_id"
        " WHERE jobs.job_type = 'quick' ORDER BY fire_time"
    )
    return [row["fire_time"] for row in rows]


async def test_schedules_of_three_types(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: cron, interval and once have their next time; what never fires is refused and not kept."""
    await made(api, **BASE, schedule_type="cron", cron_expression="0 3 * * *")
    await made(api, **EVERY_MINUTE)
    await made(api, **BASE, schedule_type="once", next_run_at="2028-01-01T00:00:00+00:00")
    assert all(one["next_run_at"] for one in (await api.get("/api/schedules")).json())
    for bad, field in (
        ({"schedule_type": "cron", "cron_expression": "99 * * * *"}, "cron_expression"),
        ({"schedule_type": "interval", "interval_ms": 0}, "interval_ms"),
        ({"schedule_type": "interval", "interval_ms": 3_000_000_000}, "interval_ms"),
        ({"schedule_type": "once", "next_run_at": "soon"}, "next_run_at"),
        ({"schedule_type": "once"}, "next_run_at"),
        ({"schedule_type": "cron", "cron_expression": "0 3 * * *", "max_runs": 0}, "max_runs"),
    ):
        refused = await api.post("/api/schedules", json={**BASE, **bad})
        assert (refused.status_code, field in refused.text) == (400, True), refused.text
    assert len((await api.get("/api/schedules")).json()) == 3


async def test_an_interval_fires_without_drift_and_names_its_schedule(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-024: one job a minute, each a whole minute after the other, with the schedule's id and its team."""
    schedule = await made(api, **EVERY_MINUTE)

    await later(world, 5)

    times = await fires(world)
    assert len(times) == 5
    assert {after - before for before, after in pairwise(times)} == {timedelta(minutes=1)}
    jobs = await world.database.rows("SELECT * FROM public.jobs WHERE job_type = 'quick'")
    assert {str(job["schedule_id"]) for job in jobs} == {schedule["id"]}
    assert {(job["team_id"], job["payload"]["number"], job["status"]) for job in jobs} == {
        (world.team, 1, "completed")
    }
    assert (await shown(api))["run_count"] == 5


async def test_once_fires_once(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: at its time, and never again."""
    due = world.backstay.now + timedelta(minutes=2)
    await made(api, **BASE, schedule_type="once", next_run_at=due.isoformat())

    await later(world, 6)

    assert await fires(world) == [due]
    assert (await shown(api))["next_run_at"] is None


async def test_runs_and_time_are_limited(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: no more than max_runs, and nothing after expires_at."""
    await made(api, **EVERY_MINUTE, max_runs=2)
    end = world.backstay.now + timedelta(minutes=3)
    await made(api, **EVERY_MINUTE, expires_at=end.isoformat())

    await later(world, 6)

    counts = [one["run_count"] for one in (await api.get("/api/schedules")).json()]
    assert counts == [2, 3]
    assert [one["next_run_at"] for one in (await api.get("/api/schedules")).json()] == [None, None]


async def test_a_schedule_that_is_disabled_rests_until_it_is_enabled(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-024: what it misses meanwhile is not made up for, and its runs are not forgotten."""
    schedule = await made(api, **EVERY_MINUTE)
    await later(world, 2)
    stopped = await api.patch(f"/api/schedules/{schedule['id']}", json={"enabled": False})
    assert (stopped.json()["enabled"], stopped.json()["next_run_at"]) == (False, None)
    await later(world, 5)
    assert len(await fires(world)) == 2

    await api.patch(f"/api/schedules/{schedule['id']}", json={"enabled": True})
    await later(world, 1)

    assert len(await fires(world)) == 3
    assert (await shown(api))["run_count"] == 3


async def test_a_change_keeps_runs_and_history(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: another payload by the API, then by plain SQL: max_runs still counts all runs, and jobs know theirs."""
    schedule = await made(api, **EVERY_MINUTE, max_runs=5)
    await later(world, 2)
    changed = await api.patch(f"/api/schedules/{schedule['id']}", json={"payload_template": {"number": 2}})
    assert (changed.status_code, changed.json()["run_count"]) == (200, 2)
    await later(world, 2)
    await world.database.execute(
        "UPDATE public.job_schedules SET payload_template = '{\"number\": 3}' WHERE id = $1::text::uuid",
        schedule["id"],
    )
    await world.backstay.drain()
    await later(world, 4)

    jobs = await world.database.rows(
        "SELECT payload, schedule_id FROM public.jobs WHERE job_type = 'quick' ORDER BY created_at, id"
    )
    assert sorted(job["payload"]["number"] for job in jobs) == [1, 1, 2, 2, 3]
    assert {str(job["schedule_id"]) for job in jobs} == {schedule["id"]}
    assert (await shown(api))["run_count"] == 5
    assert (await shown(api))["next_run_at"] is None


async def test_a_name_or_a_bad_change_leaves_the_rhythm_alone(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: the engine is told nothing of a name, and a change that cannot be undoes itself."""
    schedule = await made(api, **EVERY_MINUTE)
    path = f"/api/schedules/{schedule['id']}"
    assert (await api.patch(path, json={"name": "other"})).json()["name"] == "other"
    refused = await api.patch(path, json={"expires_at": "2001-01-01T00:00:00Z"})
    assert (refused.status_code, (await api.patch(path, json={})).status_code) == (400, 400)
    assert (await shown(api))["expires_at"] is None
    known = "SELECT count(*) FROM backstay.schedules WHERE name LIKE $1 || '%'"
    assert await world.database.value(known, schedule["id"]) == 1


async def test_ten_changes_at_once_leave_one_schedule_that_fires(
    world: World, api: httpx.AsyncClient
) -> None:
    """AEO-024: whoever is last wins, nothing fires twice, and nobody is told of a conflict."""
    schedule = await made(api, **EVERY_MINUTE)
    answers = await asyncio.gather(
        *(
            api.patch(f"/api/schedules/{schedule['id']}", json={"payload_template": {"number": number}})
            for number in range(10)
        )
    )
    assert {answer.status_code for answer in answers} == {200}
    await world.backstay.drain()
    await later(world, 3)
    assert len(await fires(world)) == 3


async def test_what_plain_sql_says_wrongly_is_told_at_the_row(world: World, api: httpx.AsyncClient) -> None:
    """AEO-024: no job dies of it: the row shows the problem, and works once it is mended."""
    insert = (
        "INSERT INTO public.job_schedules (name, job_type, schedule_type, cron_expression, team_id)"
        " VALUES ('n', $1, 'cron', $2, $3) RETURNING id"
    )
    bad = await world.database.value(insert, "quick", "99 * * * *", world.team)
    await world.database.value(insert, "quik", "* * * * *", world.team)
    await world.backstay.drain()
    rows = (await api.get("/api/schedules")).json()
    assert [("problem" in row["metadata"], row["next_run_at"]) for row in rows] == [
        (True, None),
        (True, None),
    ]
    assert "quik" in rows[1]["metadata"]["problem"]
    assert await world.database.value("SELECT count(*) FROM public.dead_letter_jobs") == 0

    await world.database.execute(
        "UPDATE public.job_schedules SET cron_expression = '* * * * *' WHERE id = $1", bad
    )
    await world.backstay.drain()
    await later(world, 2)
    assert len(await fires(world)) == 2


async def test_a_schedule_outlives_the_user_who_made_it(world: World, api: httpx.AsyncClient) -> None:
    """AEO-008, AEO-024: it goes on for the team, in nobody's name."""
    await made(api, **EVERY_MINUTE)
    await later(world, 1)
    await world.database.execute("UPDATE aeon.service_keys SET user_id = NULL")
    await world.database.execute("DELETE FROM public.users WHERE id = $1", world.user)
    await world.backstay.drain()
    await later(world, 2)
    rows = await world.database.rows("SELECT created_by, status FROM public.jobs WHERE job_type = 'quick'")
    assert [(row["created_by"], row["status"]) for row in rows] == [(None, "completed")] * 3


@pytest.mark.parametrize("removed_by", ["API", "SQL"])
async def test_a_removed_schedule_fires_no_more(
    world: World, api: httpx.AsyncClient, removed_by: str
) -> None:
    """AEO-024: by the API or by plain SQL; the jobs that it made stay."""
    schedule = await made(api, **EVERY_MINUTE)
    await later(world, 1)
    if removed_by == "API":
        assert (await api.delete(f"/api/schedules/{schedule['id']}")).status_code == 204
    else:
        await world.database.execute("DELETE FROM public.job_schedules")
    await world.backstay.drain()
    await later(world, 3)
    assert await world.database.value("SELECT count(*) FROM public.jobs WHERE job_type = 'quick'") == 1
