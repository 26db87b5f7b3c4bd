"""What is measured: each workload takes a contestant's session and returns figures."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import asyncpg

from bench.adapter import microseconds
from bench.session import ContestantFailed, Memory, Session, Workers

Figures = dict[str, Any]
MILLISECOND = 1000
# A handler tells of each so many-th job; of more where a drain is so short that this would show in its figures.
TELL_EVERY, TELL_TIMES = 200, 200


@dataclass(frozen=True)
class Scale:
    """How much is done; the figures are rates, so that a short run only reads less steadily."""

    seconds: float = 1.5
    # A fixed number of jobs to drain, or None for as many as take so many seconds, found out by trial.
    jobs: int | None = None
    drain_seconds: float = 3.0
    drain_most: int = 150_000
    trial: int = 100
    callers: int = 100
    latency_jobs: int = 50
    latency_seconds: float = 3.0
    # A whole minute, because some look after their tables once in so long.
    idle_seconds: float = 60.0
    idle_settling_seconds: float = 12.0
    patience: float = 60.0


def enqueue_one(session: Session, scale: Scale) -> Figures:
    """W1: one caller, one job after the other."""
    return _rate(session.ask("enqueue_one", seconds=scale.seconds))


def enqueue_together(session: Session, scale: Scale) -> Figures:
    """W1c: many callers at the same time, in one process."""
    return _rate(session.ask("enqueue_together", seconds=scale.seconds, callers=scale.callers))


def enqueue_many(session: Session, scale: Scale) -> Figures:
    """W2: a thousand jobs a call."""
    return _rate(session.ask("enqueue_many", seconds=scale.seconds))


def drain(session: Session, scale: Scale, *, processes: int, jobs: int, **fill: Any) -> Figures:
    """W3: from the moment when all processes are at work until the last completion is committed."""
    session.ask("fill", jobs=jobs, **fill)
    figures = _drain_filled(session, scale, processes=processes, jobs=jobs)
    if figures is None:
        # The first process was nearly through when the last one came: more jobs keep them busy together.
        session.ask("empty")
        jobs *= 4
        session.ask("fill", jobs=jobs, **fill)
        figures = _drain_filled(session, scale, processes=processes, jobs=jobs)
    if figures is None:
        name = session.contestant.name
        raise ContestantFailed(f"{processes} processes of {name} began too far apart for {jobs} jobs")
    return figures


def _drain_filled(session: Session, scale: Scale, *, processes: int, jobs: int) -> Figures | None:
    """None when the processes were not at work together for half of the jobs."""
    tidy(session)
    session.meter.clear()
    holds = processes > 1 and session.about["holds"]
    if holds:
        session.ask("hold")
    every = told_every(jobs) if session.about["counts"] else 1
    with session.workers(processes, every=every) as workers:
        if holds:
            _wait(
                lambda: session.ask("ready")["workers"] >= processes, workers, scale.patience, "did not come"
            )
            session.ask("release")
        _wait(lambda: session.meter.handled() > 0, workers, scale.patience, "began no job")
        cpu_before = workers.cpu_seconds()
        last = _finished(session, workers, jobs, patience=scale.patience)
        cpu = workers.cpu_seconds() - cpu_before
    # Processes do not start at the same moment; the clock runs from when all of them are at work.
    together = session.meter.all_at_work(processes)
    if together is None or together[1] > jobs / 2:
        return None
    seconds, counted = (last - together[0]) / 1_000_000, jobs - together[1]
    return {
        "jobs": counted,
        "seconds": round(seconds, 4),
        "rate": round(counted / seconds, 1),
        "cpu_us_per_job": round(cpu / jobs * 1_000_000, 1),
    }


def told_every(jobs: int) -> int:
    """How many jobs of a drain a record stands for, with everybody whose store says how many are left."""
    return max(1, min(TELL_EVERY, jobs // TELL_TIMES))


def drain_size(session: Session, scale: Scale) -> int:
    """How many jobs keep one worker busy for about as long as a drain should take."""
    if scale.jobs is not None:
        return scale.jobs
    # Beginning with few, because some take a second for a hundred; nobody has to find out about us.
    jobs = scale.trial if session.contestant.role == "peer" else min(50 * scale.trial, scale.drain_most)
    while True:
        trial = drain(session, scale, processes=1, jobs=jobs)
        session.ask("empty")
        if jobs >= scale.drain_most or trial["seconds"] > scale.drain_seconds / 5:
            break
        jobs = min(jobs * 6, scale.drain_most)
    return max(scale.trial, min(scale.drain_most, int(trial["rate"] * scale.drain_seconds) // 100 * 100))


def latency(session: Session, scale: Scale) -> Figures:
    """W4: an idle worker gets one job at a time."""
    session.meter.clear()
    with session.workers(1, results=True) as workers:
        _warm_up(session, workers, scale)
        session.meter.clear()
        told = session.ask("latency", jobs=scale.latency_jobs, seconds=scale.latency_seconds)
        _wait(
            lambda: set(told["fired"]) <= set(session.meter.started()), workers, scale.patience, "lost a job"
        )
    started = session.meter.started()
    figures = {"start_ms": _percentiles([started[sent] - sent for sent in told["fired"]])}
    if told["visible"]:
        figures["visible_ms"] = _percentiles(told["visible"])
    return figures


def idle(sessions: list[Session], scale: Scale) -> dict[str, Figures]:
    """W5: what workers cost that have nothing to do; all at once, because they have nothing to do."""
    with contextlib.ExitStack() as running:
        workers: dict[Session, Workers] = {}
        figures: dict[str, Figures] = {}
        for session in sessions:
            session.meter.clear()
            started = running.enter_context(session.workers(1))
            try:
                _warm_up(session, started, scale)
            except ContestantFailed as error:
                figures[session.contestant.name] = {"error": str(error)}
            else:
                workers[session] = started
            session.hang_up()
        # Until then the server has not counted all of what went before.
        time.sleep(scale.idle_settling_seconds)
        before = {session: _used(session, started) for session, started in workers.items()}
        time.sleep(scale.idle_seconds)
        after = {session: _used(session, started) for session, started in workers.items()}
    for session in workers:
        figures[session.contestant.name] = _idle_figures(before[session], after[session])
    return figures


@dataclass(frozen=True)
class _Used:
    at: float
    cpu_seconds: float
    memory: Memory
    transactions: int | None


def _used(session: Session, workers: Workers) -> _Used:
    transactions = _transactions(session)
    return _Used(time.monotonic(), workers.cpu_seconds(), workers.memory(), transactions)


def _idle_figures(before: _Used, after: _Used) -> Figures:
    taken = after.at - before.at
    figures = {
        "pss_mb": round(after.memory.shares / 1_000_000, 1),
        # Of its largest process; ours has one.
        "rss_mb": round(after.memory.largest / 1_000_000, 1),
        "cpu_percent": round((after.cpu_seconds - before.cpu_seconds) / taken * 100, 2),
        # The least above zero that the other two can be: one tick of 10 ms, in percent, or one transaction.
        "least_seen": round(1 / taken, 3),
    }
    if before.transactions is not None and after.transactions is not None:
        figures["transactions_per_second"] = round((after.transactions - before.transactions) / taken, 2)
    return figures


def tidy(session: Session) -> None:
    """Fresh statistics for everybody, as autovacuum would have made them."""
    if session.contestant.store == "postgres":
        execute(session.url, "VACUUM ANALYZE")


def execute(url: str, statement: str) -> None:
    """Run one statement on a connection of its own."""
    asyncio.run(_execute(url, statement))


async def _execute(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()


def _rate(answer: dict[str, Any]) -> Figures:
    rate = round(answer["jobs"] / answer["seconds"], 1)
    return {"jobs": answer["jobs"], "seconds": round(answer["seconds"], 4), "rate": rate}


def _warm_up(session: Session, workers: Workers, scale: Scale) -> None:
    """The first jobs find a worker that is still starting; they are not what is measured."""
    session.ask("fill", jobs=20)
    _wait(lambda: session.meter.handled() > 0, workers, scale.patience, "began no job")
    time.sleep(1)


def _finished(session: Session, workers: Workers, jobs: int, *, patience: float) -> int:
    """When the last job was completed, by the clock that all processes share."""
    if not session.about["counts"]:
        _wait(lambda: session.meter.handled() >= jobs, workers, patience, f"did not do {jobs} jobs")
        return session.meter.last()
    told, since, asked = -1, time.monotonic(), 0

    def over() -> bool:
        # Counting costs the database something, so it begins when the handlers may be through, or stand still.
        nonlocal told, since, asked
        if (handled := session.meter.handled_at_most()) != told:
            told, since = handled, time.monotonic()
        if handled < jobs and time.monotonic() - since < 2:
            return False
        # The answer shows a moment after this one, so the last job was done by then.
        asked = microseconds()
        return bool(session.ask("remaining")["jobs"] == 0)

    _wait(over, workers, patience, f"did not do {jobs} jobs")
    return asked


def _wait(is_over: Callable[[], bool], workers: Workers, patience: float, what: str) -> None:
    """Wait as long as there is progress, and `patience` seconds beyond."""
    session, seen = workers.session, -1
    deadline = time.monotonic() + patience
    while not is_over():
        if (handled := session.meter.handled()) != seen:
            seen, deadline = handled, time.monotonic() + patience
        if time.monotonic() > deadline:
            raise ContestantFailed(
                f"{session.contestant.name} {what} within {patience:.0f} s, after {seen}: {session.last_words()}"
            )
        workers.check()
        # Seldom enough not to take the processors from those who are measured.
        time.sleep(0.01)


def _transactions(session: Session) -> int | None:
    if session.contestant.store != "postgres":
        return None
    return asyncio.run(_count_transactions(session.url))


async def _count_transactions(url: str) -> int:
    server, _, database = url.rpartition("/")
    connection = await asyncpg.connect(f"{server}/postgres")
    count = await connection.fetchval(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = $1", database
    )
    await connection.close()
    assert isinstance(count, int)
    return count


def _percentiles(taken: list[int]) -> dict[str, float]:
    if len(taken) < 2:
        raise ContestantFailed(f"only {len(taken)} handlers told when they started")
    cuts = statistics.quantiles(taken, n=100, method="inclusive")
    named = {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98]}
    return {
        **{name: round(value / MILLISECOND, 3) for name, value in named.items()},
        "jobs": len(taken),
    }
