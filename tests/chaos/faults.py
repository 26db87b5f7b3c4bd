"""The faults: each does its harm to one post or to the database, and returns what shows that it happened."""

from __future__ import annotations

import asyncio
import json
import random
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg

from chaos.evidence import read_calls, whole_lines
from chaos.field import Field, Post, comes_true
from chaos.proxy import Chooses, Fault, commit, commit_after, commit_after_guard, inserting, statement

Shown = dict[str, Any]
Harm = Callable[[Field, Post, random.Random], Awaitable[Shown]]

LONGEST_WAIT = 4.0

RUNNING = "SELECT count(*) FROM backstay.jobs WHERE state = 'running'"
HELD = """
SELECT count(*)
FROM backstay.jobs AS job
JOIN backstay.workers AS worker ON worker.id = job.worker
WHERE job.state = 'running' AND job.claim_id IS NOT NULL AND worker.pid = {pid}
"""
# Its claims were taken over, and some of its jobs run again elsewhere or are over: now its word would do harm.
ROBBED = f"""
SELECT ({HELD}) = 0 AND EXISTS (
    SELECT FROM chaos.events AS claimed
    JOIN backstay.workers AS worker ON worker.id = claimed.worker AND worker.pid = {{pid}}
    JOIN backstay.jobs AS job ON job.id = claimed.job_id AND job.run > claimed.run
    WHERE claimed.from_state <> 'running' AND claimed.to_state = 'running'
      AND claimed.at > clock_timestamp() - INTERVAL '1 minute'
)
"""


async def worker_killed(field: Field, post: Post, chance: random.Random) -> Shown:
    """SIGKILL, and a new worker in its place."""
    post.signal(signal.SIGKILL)
    await post.has_left(within=10)
    code = post.process.returncode if post.process else None
    post.start()
    return {"landed": code == -signal.SIGKILL, "code": code}


async def worker_frozen(field: Field, post: Post, chance: random.Random) -> Shown:
    """SIGSTOP for longer than a lease, until its claims are another's: then it wakes up and goes on."""
    await comes_true(lambda: _holds_something(field, post), within=LONGEST_WAIT)
    post.signal(signal.SIGSTOP)
    try:
        stopped = await comes_true(lambda: _state_of(post.pid) == "T", within=5)
        await asyncio.sleep(field.lease * chance.uniform(1.0, 1.4))
        robbed = await comes_true(
            lambda: field.value(ROBBED.format(pid=post.pid)), within=field.lease * 4, every=0.1
        )
    finally:
        post.signal(signal.SIGCONT)
    return {"landed": stopped, "robbed": robbed}


async def worker_replaced(field: Field, post: Post, chance: random.Random) -> Shown:
    """SIGTERM, as a deployment does it, while a claim is under way."""
    late = post.proxy.delay_reply(_claimed, seconds=0.3)
    await comes_true(lambda: late.seen, within=LONGEST_WAIT)
    post.signal(signal.SIGTERM)
    left = await post.has_left(within=30)
    if not left:
        post.signal(signal.SIGKILL)
        await post.has_left(within=10)
    code = post.process.returncode if post.process else None
    post.start()
    return {"landed": left, "code": code}


async def worker_misdated(field: Field, post: Post, chance: random.Random) -> Shown:
    """A worker leaves, and its successor's clock is ten minutes wrong."""
    post.signal(signal.SIGTERM)
    if not await post.has_left(within=30):
        post.signal(signal.SIGKILL)
        await post.has_left(within=10)
    post.start(skew=chance.choice([-600, 600]))
    return {"landed": post.is_running}


async def connections_reset(field: Field, post: Post, chance: random.Random) -> Shown:
    """Every connection of one process is reset."""
    hit = post.proxy.reset_all()
    return {"landed": hit > 0, "connections": hit}


async def connections_silent(field: Field, post: Post, chance: random.Random) -> Shown:
    """Every connection of one process is half open: what is sent goes nowhere, and nobody is told."""
    hit = post.proxy.go_silent()
    await asyncio.sleep(chance.uniform(0.5, 2.0))
    return {"landed": hit > 0, "connections": hit}


async def replies_delayed(field: Field, post: Post, chance: random.Random) -> Shown:
    """Every reply to one process comes late."""
    hit = post.proxy.connections
    post.proxy.seconds_per_reply = chance.uniform(0.2, 0.8)
    await asyncio.sleep(chance.uniform(1.0, 3.0))
    post.proxy.seconds_per_reply = 0.0
    return {"landed": hit > 0, "connections": hit}


async def commit_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when a commit is about to be sent: it has not happened."""
    return await _wait(post, post.proxy.lose_request(commit))


async def outcome_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when outcomes were committed, before the worker hears of it."""
    chosen = chance.choice([statement("jobs/complete"), commit_after("jobs/settle")])
    return await _wait(post, post.proxy.lose_reply(chosen), unknown_commits=1)


async def booking_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when a handler's own transaction is committed, before or after it has happened."""
    if chance.random() < 0.5:
        return await _wait(post, post.proxy.lose_request(commit_after_guard()))
    return await _wait(post, post.proxy.lose_reply(commit_after_guard()), unknown_commits=1)


async def claim_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when jobs were claimed, before the worker hears of them."""
    return await _wait(post, post.proxy.lose_reply(_claimed), unknown_commits=1)


async def renewal_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when leases were renewed, before the worker hears of it."""
    return await _wait(post, post.proxy.lose_reply(statement("jobs/renew")), unknown_commits=1)


async def enqueue_cut(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends when jobs were stored, before the producer hears of it."""
    alone, keyed = _alone(inserting("jobs")), commit_after("keys/reserve")
    chosen: Chooses = lambda query, before: alone(query, before) or keyed(query, before)  # noqa: E731 -- one use
    return await _wait(post, post.proxy.lose_reply(chosen), unknown_commits=1)


async def enqueue_lost(field: Field, post: Post, chance: random.Random) -> Shown:
    """A connection ends before jobs are stored."""
    return await _wait(post, post.proxy.lose_request(inserting("jobs")))


async def producer_killed(field: Field, post: Post, chance: random.Random) -> Shown:
    """SIGKILL between two words; a new producer goes on with other numbers."""
    post.signal(signal.SIGKILL)
    await post.has_left(within=10)
    code = post.process.returncode if post.process else None
    restart_producer(field, post)
    return {"landed": code == -signal.SIGKILL, "code": code}


def restart_producer(field: Field, post: Post) -> None:
    """Go on after the last number that was used, with what is missing."""
    path = field.folder / "calls"
    used = [n for line in map(json.loads, whole_lines(path)) for n in line.get("calls", [])]
    accepted = {call.job_id for call in read_calls(path) if call.outcome == "ok"}
    jobs = post.settings["jobs"] - len(accepted)
    post.start(first=max(used, default=-1) + 1, jobs=max(jobs, 1), besides=[])


async def backends_ended(field: Field, post: Post, chance: random.Random) -> Shown:
    """An administrator ends half of the sessions."""
    ended = await field.value(
        "SELECT count(*) FROM (SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'backstay' AND random() < 0.5) AS ended"
    )
    return {"landed": bool(ended), "sessions": ended}


async def table_locked(field: Field, post: Post, chance: random.Random) -> Shown:
    """Somebody locks the whole table for longer than the engine waits for a lock."""
    try:
        connection = await asyncpg.connect(field.url)
        try:
            async with connection.transaction():
                await connection.execute("SET LOCAL lock_timeout = '5s'")
                await connection.execute("LOCK TABLE backstay.jobs IN ACCESS EXCLUSIVE MODE")
                await asyncio.sleep(chance.uniform(1.0, 2.8))
        finally:
            connection.terminate()
    except (asyncpg.PostgresError, OSError) as error:
        return {"landed": False, "error": str(error)}
    return {"landed": True}


async def database_restarted(field: Field, post: Post, chance: random.Random) -> Shown:
    """The server crashes and recovers."""
    before = await field.value("SELECT pg_postmaster_start_time()")
    await asyncio.to_thread(field.server.restart, "immediate")
    after = await field.value("SELECT pg_postmaster_start_time()")
    return {"landed": before != after}


async def database_down(field: Field, post: Post, chance: random.Random) -> Shown:
    """The server is away for longer than a lease: every lease has run out, and nobody has died."""
    await comes_true(lambda: field.value(RUNNING), within=LONGEST_WAIT)
    before = await field.value("SELECT pg_postmaster_start_time()")
    await asyncio.to_thread(field.server.stop, "fast")
    await asyncio.sleep(field.lease * 1.2)
    await asyncio.to_thread(field.server.start_again)
    return {"landed": before != await field.value("SELECT pg_postmaster_start_time()")}


OF_WORKERS: dict[str, tuple[Harm, int]] = {
    "worker_killed": (worker_killed, 10),
    "worker_frozen": (worker_frozen, 9),
    "worker_replaced": (worker_replaced, 7),
    "worker_misdated": (worker_misdated, 3),
    "connections_reset": (connections_reset, 10),
    "connections_silent": (connections_silent, 8),
    "replies_delayed": (replies_delayed, 8),
    "commit_cut": (commit_cut, 9),
    "outcome_cut": (outcome_cut, 12),
    "booking_cut": (booking_cut, 8),
    "claim_cut": (claim_cut, 10),
    "renewal_cut": (renewal_cut, 5),
}
OF_PRODUCER: dict[str, tuple[Harm, int]] = {
    "enqueue_cut": (enqueue_cut, 8),
    "enqueue_lost": (enqueue_lost, 5),
    "producer_killed": (producer_killed, 3),
}
OF_DATABASE: dict[str, tuple[Harm, int]] = {
    "backends_ended": (backends_ended, 7),
    "table_locked": (table_locked, 3),
    "database_restarted": (database_restarted, 5),
    "database_down": (database_down, 1),
}


def _alone(chooses: Chooses) -> Chooses:
    """The statement outside of a transaction, where its reply is the word that it is committed."""
    return lambda query, before: chooses(query, before) and not (before and before[0].startswith("BEGIN"))


_WAYS_TO_CLAIM = (
    _alone(statement("jobs/claim")),
    _alone(statement("jobs/claim_pair")),
    _alone(statement("dispatch/claim_named")),
    commit_after("jobs/claim"),
    commit_after("limits/start"),
)


def _claimed(query: str, before: list[str]) -> bool:
    """What makes a claim stand: the statement itself, or the end of the transaction it is part of."""
    return any(chooses(query, before) for chooses in _WAYS_TO_CLAIM)


async def _holds_something(field: Field, post: Post) -> bool:
    return bool(await field.value(HELD.format(pid=post.pid)) != 0)


async def _wait(post: Post, fault: Fault, **shown: Any) -> Shown:
    landed = await comes_true(lambda: fault.seen, within=LONGEST_WAIT)
    if not landed:
        post.proxy.forget(fault)
    return {"landed": fault.seen, **shown}


def _state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return ""
