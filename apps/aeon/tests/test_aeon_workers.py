"""Real workers: which jobs each takes, that they live, die and stop, and what Redis is worth to them."""

from __future__ import annotations

import asyncio
import signal
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from aeon_fleet import Fleet
from aeon_world import bomb

from backstay.errors import WrongState
from backstay_aeon.actions import check, imports, submit, uploads, watch
from backstay_parts.servers import ServerProcess, free_port
from backstay_parts.servers.process import answers_http

REPORT = {"report": "job_summary", "format": "csv"}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number_of_each", [6, pytest.param(67, marks=pytest.mark.prove)])
async def test_each_type_of_worker_takes_its_own_jobs(fleet: Fleet, number_of_each: int) -> None:
    """AEO-012: an import worker makes no report, a report worker no import, a priority worker only urgent jobs."""
    kept = await uploads.keep(fleet.services, fleet.team, None, "note.txt", b"hello")
    await asyncio.gather(*(fleet.start(kind) for kind in ("data-import", "reports", "priority")))

    for number in range(number_of_each):
        await fleet.submit("report_gen", REPORT)
        await fleet.submit("file_processing", {"file_id": str(kept["id"])})
        await fleet.submit("quick", {"number": number}, priority=9)
    await fleet.until_ended(3 * number_of_each)

    rows = await fleet.database.rows(
        "SELECT DISTINCT job_type, priority, split_part(worker_id, '-', 2) AS by FROM public.jobs"
    )
    taken = {(row["job_type"], row["priority"], row["by"]) for row in rows}
    assert taken == {
        ("report_gen", 5, "reports"),
        ("file_processing", 5, "data"),
        ("quick", 9, "priority"),
    }


async def test_each_line_starts_the_higher_priority_first_and_then_the_older(fleet: Fleet) -> None:
    """AEO-009: as they really started, whatever the order of submission; urgent jobs have a line of their own."""
    notes = fleet.folder / "notes"
    for number, priority in enumerate([5, 3, 10, 5, 8, 1, 10]):
        await fleet.submit("noting", {"into": str(notes), "line": f"{priority}/{number}"}, priority=priority)
    await fleet.start("general", MAX_CONCURRENT_JOBS="1")
    await fleet.until_ended(7)
    started = notes.read_text().split()
    assert [line for line in started if line in ("10/2", "10/6", "8/4")] == ["10/2", "10/6", "8/4"]
    assert [line for line in started if line[1] == "/" and line != "8/4"] == ["5/0", "5/3", "3/1", "1/5"]


async def test_a_running_job_is_cancelled_and_its_attempt_says_so(fleet: Fleet) -> None:
    """AEO-010: it is asked to stop, stops, and neither its job nor its attempt is called failed."""
    await fleet.start("general")
    job = await fleet.submit("waiting", {"until": "/nowhere"})
    await fleet.until_running(job)

    assert await submit.cancel(fleet.services, job, "ann") == "running"

    async def is_cancelled() -> bool:
        return bool((await fleet.job(job))["status"] == "cancelled")

    await fleet.until(is_cancelled)
    runs = await fleet.database.rows("SELECT status FROM public.job_executions WHERE job_id = $1", job)
    assert [run["status"] for run in runs] == ["cancelled"]
    with pytest.raises(WrongState):
        await submit.cancel(fleet.services, job, "ann")


async def test_a_zip_bomb_costs_a_worker_nothing(fleet: Fleet) -> None:
    """AEO-025: a real worker refuses it in a process of its own, lives on, and imports the next table."""
    await fleet.start("data-import")
    alive = "SELECT id, pid FROM backstay.workers WHERE state = 'alive'"
    before = await fleet.database.rows(alive)
    for name, content in (
        ("bomb.xlsx", await asyncio.to_thread(bomb)),
        ("good.csv", b"number,name\n1,Ada\n"),
    ):
        made = await imports.begin(
            fleet.services, fleet.team, None, name=name, content=content, dataset="people"
        )
        job = UUID(await imports.start(fleet.services, fleet.team, None, made))
        await fleet.until(lambda job=job: has_ended(fleet, job))
        expected = "dead_letter" if name == "bomb.xlsx" else "completed"
        assert (await fleet.job(job))["status"] == expected
    run = await fleet.database.row(
        "SELECT error_code, memory_used_mb FROM public.job_executions WHERE status = 'failed'"
    )
    assert run is not None
    assert (run["error_code"], run["memory_used_mb"] < 512) == ("validation_error", True)
    assert await fleet.database.rows(alive) == before


async def has_ended(fleet: Fleet, job: UUID) -> bool:
    return (await fleet.job(job))["status"] in ("completed", "dead_letter")


async def test_a_job_of_low_priority_is_left_by_a_priority_worker(fleet: Fleet) -> None:
    """AEO-012: 8 and above are urgent, 7 and below are not."""
    await fleet.start("priority")
    ordinary = await fleet.submit("quick", priority=7)
    urgent = await fleet.submit("quick", priority=8)

    async def is_done() -> bool:
        return bool((await fleet.job(urgent))["status"] == "completed")

    await fleet.until(is_done)
    await fleet.submit("quick", priority=8)
    assert (await fleet.job(ordinary))["status"] == "queued"


async def test_a_killed_worker_raises_the_alarm_and_its_jobs_go_on_elsewhere(fleet: Fleet) -> None:
    """AEO-013, AEO-014: kill -9; the rule worker_down holds, and the job completes on another worker."""
    first, done = await fleet.start("general", "worker-one"), fleet.folder / "done"
    job = await fleet.submit("waiting", {"until": str(done)})
    victim = await fleet.until_running(job)
    stats = await stats_of(fleet, victim)
    assert stats["type"] == "general"
    assert int(stats["rss_mb"]) > 0
    assert stats["cpu_percent"] != ""
    assert "worker_down" not in await watch.look(fleet.services)

    await asyncio.to_thread(first.kill)
    await fleet.start("general", "worker-two")

    await fleet.until(lambda: is_told(fleet))
    assert await fleet.until_running(job, elsewhere_than=victim) != victim
    done.touch()
    await fleet.until_ended(1)
    opened = await fleet.database.rows(
        "SELECT message, severity, action FROM aeon.alerts WHERE rule = 'worker_down'"
    )
    assert [tuple(row.values()) for row in opened] == [
        ("One or more workers are not responding", "critical", "restart_worker")
    ]


async def is_told(fleet: Fleet) -> bool:
    """Whether somebody has fired the rule; nobody looks on behalf of the test."""
    told = "SELECT count(*) FROM aeon.alerts WHERE rule = 'worker_down' AND cleared_at IS NULL"
    return bool(await fleet.database.value(told))


async def test_the_pages_alone_tell_within_forty_seconds_that_the_only_worker_is_gone(fleet: Fleet) -> None:
    """AEO-013, AEO-032: nobody is left to run a job, and the alert fires all the same."""
    port = free_port()
    command = [sys.executable, "-m", "backstay_aeon", "serve", "--port", str(port)]
    pages = ServerProcess(
        command, port=port, name="pages", env=fleet.environment, is_ready=answers_http("/login")
    )
    worker = await fleet.start("reports")
    await asyncio.to_thread(worker.kill)
    await asyncio.to_thread(fleet.stack.enter_context, pages)
    # As if it had been killed 28 s ago: a worker counts as gone after 30 s of silence.
    await fleet.database.execute(
        "UPDATE backstay.workers SET heartbeat_at = clock_timestamp() - interval '28 s'"
    )
    await fleet.until(lambda: is_told(fleet))
    late = await fleet.database.value(
        "SELECT extract(epoch FROM max(fired_at) - (SELECT max(heartbeat_at) FROM backstay.workers))::float"
        " FROM aeon.alerts WHERE rule = 'worker_down'"
    )
    assert 30 <= late <= 40


async def test_a_fleet_without_general_workers_does_the_services_own_work(fleet: Fleet) -> None:
    """AEO-012, AEO-024: a schedule that plain SQL inserts gets its times although only reports are made here."""
    await fleet.start("reports")
    made = await fleet.database.value(
        "INSERT INTO public.job_schedules (name, job_type, payload_template, schedule_type, interval_ms, team_id)"
        " VALUES ('hourly', 'report_gen', $1, 'interval', 3600000, $2) RETURNING id",
        REPORT,
        fleet.team,
    )

    async def is_known() -> bool:
        row = await fleet.database.row("SELECT next_run_at FROM public.job_schedules WHERE id = $1", made)
        return row is not None and row["next_run_at"] is not None

    await fleet.until(is_known)


async def stats_of(fleet: Fleet, worker: str) -> dict[str, str]:
    """What a worker tells Redis of itself, once it has measured something."""
    found: dict[str, str] = {}

    async def is_told() -> bool:
        found.update(await fleet.redis.hgetall(f"worker:{worker}:stats"))
        return bool(found.get("rss_mb"))

    await fleet.until(is_told)
    return found


async def test_a_worker_that_leaves_in_order_raises_no_alarm(fleet: Fleet) -> None:
    """AEO-013: who was stopped is not down: neither in the rules nor in Redis."""
    await fleet.start("general")

    async def beats() -> bool:
        return bool(await fleet.redis.zcard("workers:active"))

    await fleet.until(beats)
    fleet.tell("worker-general", signal.SIGTERM)

    async def has_left() -> bool:
        return not fleet.workers["worker-general"].is_running

    await fleet.until(has_left)
    assert "worker_down" not in await watch.look(fleet.services)
    assert await fleet.redis.zcard("workers:active") == 0


async def test_a_worker_told_to_stop_ends_short_jobs_and_gives_long_ones_back(fleet: Fleet) -> None:
    """AEO-015: after SIGTERM the job that ends within the grace is completed, the other one waits again."""
    soon, never = fleet.folder / "soon", fleet.folder / "never"
    await fleet.start("general", SHUTDOWN_TIMEOUT="5000")
    short = await fleet.submit("waiting", {"until": str(soon)})
    long = await fleet.submit("waiting", {"until": str(never)})
    await fleet.until_running(short)
    await fleet.until_running(long)

    fleet.tell("worker-general", signal.SIGTERM)

    async def is_stopping() -> bool:
        return bool(
            await fleet.database.value("SELECT count(*) FROM backstay.workers WHERE state <> 'alive'")
        )

    await fleet.until(is_stopping)
    soon.touch()

    async def has_left() -> bool:
        return not fleet.workers["worker-general"].is_running

    await fleet.until(has_left)
    assert (await fleet.job(short))["status"] == "completed"
    given_back = await fleet.job(long)
    assert given_back["status"] in ("pending", "queued")
    assert given_back["retry_count"] == 0


async def test_a_busy_handler_does_not_stop_the_signs_of_life(fleet: Fleet) -> None:
    """AEO-030: while a handler keeps the processor to itself, the worker's heartbeat goes on."""
    await fleet.start("general")
    done = fleet.folder / "done"
    job = await fleet.submit("busy", {"until": str(done)})
    worker = await fleet.until_running(job)
    seen: set[datetime] = set()

    async def beats_on() -> bool:
        seen.add(
            await fleet.database.value("SELECT heartbeat_at FROM backstay.workers WHERE id = $1", worker)
        )
        return len(seen) >= 3

    await fleet.until(beats_on)
    assert (await fleet.job(job))["status"] == "running"
    done.touch()
    await fleet.until_ended(1)


async def test_a_job_submitted_while_redis_is_away_runs(fleet: Fleet) -> None:
    """AEO-007: it is pending instead of queued, runs all the same, and Redis is refilled when it is back."""
    await fleet.start("general")
    queued = await fleet.submit("waiting", {"until": str(fleet.folder / "go")}, priority=10)
    await fleet.until_running(queued)
    fleet.server.kill()
    try:
        jobs = [await fleet.submit("quick", {"number": number}) for number in range(20)]
        held = await fleet.submit("quick", scheduled_for=datetime.now(UTC) + timedelta(hours=1))
        assert (await fleet.job(held))["status"] == "pending"

        async def all_done() -> bool:
            return {(await fleet.job(job))["status"] for job in jobs} == {"completed"}

        await fleet.until(all_done)
    finally:
        fleet.server.run()
    await fleet.redis.connection_pool.disconnect()

    async def is_refilled() -> bool:
        return await fleet.redis.zscore("queue:delayed", str(held)) is not None

    await fleet.until(is_refilled)
    Path(fleet.folder / "go").touch()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("half", [60, pytest.param(1000, marks=pytest.mark.prove)])
async def test_whatever_is_pushed_into_redis_each_job_runs_once(fleet: Fleet, half: int) -> None:
    """AEO-016, AEO-011: an id a hundred times, unknown and finished ones, a deleted list: one execution each."""
    first = [await fleet.submit("quick", {"number": number}) for number in range(half)]
    await fleet.until(lambda: is_queued(fleet, first[0]))
    keys = [key async for key in fleet.redis.scan_iter("queue:pending:quick:*")]
    assert len(keys) == 1
    await fleet.redis.lpush(keys[0], *[str(first[0])] * 100, *[str(uuid4()) for _ in range(20)])

    await asyncio.gather(fleet.start("general", "worker-a"), fleet.start("general", "worker-b"))
    more = [await fleet.submit("quick", {"number": number}) for number in range(half)]
    await fleet.redis.delete(keys[0])
    await fleet.until_ended(2 * half)
    await fleet.redis.lpush(keys[0], *(str(job) for job in (*first[:20], *more[:20])))
    last = await fleet.submit("quick")
    await fleet.until_ended(2 * half + 1)

    runs = await fleet.database.rows(
        "SELECT job_id, count(*) AS runs FROM public.job_executions GROUP BY job_id"
    )
    assert {row["runs"] for row in runs} == {1}
    assert len(runs) == 2 * half + 1
    assert (await fleet.job(last))["status"] == "completed"

    async def is_mirrored() -> bool:
        told = await fleet.redis.zcard("queue:completed") >= min(2 * half + 1, 1000)
        return bool(told and await fleet.redis.zcard("queue:active") == 0)

    await fleet.until(is_mirrored)
    assert await fleet.redis.get(f"job:{last}:status") == "completed"


async def is_queued(fleet: Fleet, job: UUID) -> bool:
    """Whether Redis has heard of a job, as those who watch have noted."""
    await watch.note_announced(fleet.services)
    return bool((await fleet.job(job))["status"] == "queued")


async def test_a_job_of_which_redis_hears_later_is_queued_then(fleet: Fleet) -> None:
    """AEO-006: whatever was noted when it was stored."""
    job = await fleet.submit("quick")
    await fleet.until(lambda: is_queued(fleet, job))
    await fleet.database.execute("DELETE FROM aeon.announced")
    assert (await fleet.job(job))["status"] == "pending"
    assert await is_queued(fleet, job)
    await fleet.redis.flushall()
    other = await fleet.submit("quick")
    await fleet.database.execute("DELETE FROM aeon.announced")
    await fleet.redis.flushall()
    assert not await is_queued(fleet, other)


async def test_jobs_that_are_due_later_start_once_each(fleet: Fleet) -> None:
    """AEO-022: 250 jobs due at the same moment, two workers: none lost, none doubled."""
    await asyncio.gather(fleet.start("general", "worker-a"), fleet.start("general", "worker-b"))
    due = datetime.now(UTC) + timedelta(seconds=4)
    for number in range(250):
        await fleet.submit("quick", {"number": number}, scheduled_for=due)
    await fleet.until_ended(250)

    async def is_empty() -> bool:
        return await fleet.redis.zcard("queue:delayed") == 0

    await fleet.until(is_empty)
    runs = await fleet.database.value("SELECT count(*) FROM public.job_executions")
    early = await fleet.database.value(
        "SELECT count(*) FROM public.job_executions WHERE started_at < $1", due
    )
    assert (runs, early) == (250, 0)


async def test_keys_live_as_long_as_the_document_says(fleet: Fleet) -> None:
    """AEO-033: jobs seven days, workers an hour, metrics thirty days, and older members are removed."""
    old = (datetime.now(UTC) - timedelta(days=31)).timestamp() * 1000
    for name in ("completed", "failed", "durations"):
        await fleet.redis.zadd(f"metrics:{name}", {"long ago": old})
    await fleet.start("general")
    good = await fleet.submit("quick")
    await fleet.submit("failing", {"as": "validation_error"})

    async def is_mirrored() -> bool:
        return bool(await fleet.redis.zcard("queue:completed") and await fleet.redis.zcard("queue:dlq"))

    await fleet.until(is_mirrored)
    for name in ("completed", "failed", "durations"):
        assert "long ago" not in await fleet.redis.zrange(f"metrics:{name}", 0, -1)
        assert 0 < await fleet.redis.ttl(f"metrics:{name}") <= 30 * 86_400
    assert 0 < await fleet.redis.ttl(f"job:{good}:data") <= 7 * 86_400
    assert "payload" not in await fleet.redis.hgetall(f"job:{good}:data")
    worker = (await fleet.redis.zrange("workers:active", 0, -1))[0]
    assert 0 < await fleet.redis.ttl(f"worker:{worker}:heartbeat") <= 3600


async def test_check_holds_on_a_good_system(fleet: Fleet) -> None:
    """AEO-037: with Redis, tables and a worker all ten points hold."""
    await fleet.start("general")

    async def all_hold() -> bool:
        return all(point["holds"] for point in await check.points(fleet.services))

    await fleet.until(all_hold)


async def test_a_worker_that_has_grown_too_large_starts_anew(fleet: Fleet) -> None:
    """AEO-013, AEO-039: above MEMORY_LIMIT_MB it finishes what it has, and another takes its place."""
    await fleet.start("general", MEMORY_LIMIT_MB="1", HEALTH_CHECK_INTERVAL="200")

    async def has_been_replaced() -> bool:
        rows = await fleet.database.rows("SELECT state, pid FROM backstay.workers")
        return len(rows) > 1 and len({row["pid"] for row in rows}) == 1

    await fleet.until(has_been_replaced)
