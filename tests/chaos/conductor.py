"""One run: production and faults at the same time, then quiet, then the verdict."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from backstay.testing import PrivatePostgres, PrivateRedis
from chaos import checker, faults
from chaos.evidence import collect
from chaos.field import Field, Post, comes_true
from chaos.redis_faults import OF_REDIS
from chaos.workload import TRANSACTIONAL

# What there is to see when jobs are left over: those jobs, who works, and who holds what.
SCENE = """
SELECT CAST(jsonb_build_object(
    'now', clock_timestamp(),
    'jobs', (
        SELECT jsonb_agg(to_jsonb(job) - 'args' - 'result' - 'policy')
        FROM (
            SELECT * FROM backstay.jobs WHERE state IN ('scheduled', 'held', 'available', 'running') LIMIT 50
        ) AS job
    ),
    'workers', (SELECT jsonb_agg(to_jsonb(worker)) FROM backstay.workers AS worker WHERE state <> 'dead'),
    'sessions', (
        SELECT jsonb_agg(to_jsonb(session) || jsonb_build_object('blocked_by', pg_blocking_pids(session.pid)))
        FROM pg_stat_activity AS session WHERE datname = current_database()
    ),
    'locks', (SELECT jsonb_agg(to_jsonb(held)) FROM pg_locks AS held WHERE held.locktype <> 'virtualxid')
) AS text)
"""
MACHINES = ("north", "north", "south", "west")
DRAIN = 60.0
"""So many seconds without the end of a job mean that those which are left are stuck."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How large a run is, and by which numbers."""

    seed: int
    jobs: int
    faults: int
    rate: float = 150.0
    lease: float = 3.0
    pause: float = 0.9
    poisons: int = 2
    only: tuple[str, ...] = ()
    machines: tuple[str, ...] = MACHINES
    rules: tuple[checker.Rule, ...] = checker.SAFETY + checker.VACUOUS
    producer: dict[str, Any] = field(default_factory=dict)
    worker: dict[str, Any] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    redis: bool = False
    """Whether a Redis suggests the jobs and carries the hints, and has faults of its own."""
    drain: float = DRAIN
    goes_on: bool = True
    """Whether production goes on after `jobs` until every fault has landed, so that faults find something to harm."""
    patience: float = 1500.0
    """Seconds after which a run that does not come to its end is given up."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a run has shown."""

    seed: int
    commit: str
    seconds: float
    figures: dict[str, Any]
    violations: dict[str, list[str]]
    scene: Any = None
    """What there was to see when jobs were left over."""

    @property
    def holds(self) -> bool:
        return not self.violations

    def text(self) -> str:
        return json.dumps(asdict(self), indent=2)


async def run(
    plan: Plan, server: PrivatePostgres, *, database: str, folder: Path, redis: PrivateRedis | None = None
) -> Report:
    """Make a run on a database of its own; its journals stay in the folder."""
    began = time.monotonic()
    server.create_database(database)
    environment = plan.environment
    if redis is not None:
        environment = {**environment, "BACKSTAY_DISPATCH": redis.url(), "BACKSTAY_WAKEUPS": redis.url()}
    grounds = Field(server, server.url(database), folder, plan.lease, environment, redis)
    await grounds.prepare()
    landed: list[str] = []
    try:
        async with asyncio.timeout(plan.patience), _occupied(grounds, plan) as producer:
            await _harm(grounds, producer, plan, landed)
            scene = await _quiet(grounds, producer, plan)
    except TimeoutError:
        raise AssertionError(
            f"the run did not end within {plan.patience:g} s: {len(landed)} of {plan.faults} faults have landed"
        ) from None
    evidence = await collect(grounds.url, folder, transactional=TRANSACTIONAL)
    found = {name: told[:20] for name, told in checker.judge(evidence, plan.rules).items()}
    if len(landed) < plan.faults:
        found["every_fault_landed"] = [f"only {len(landed)} of {plan.faults} faults landed: {landed}"]
    return Report(
        seed=plan.seed,
        commit=_commit(),
        seconds=round(time.monotonic() - began, 1),
        figures=checker.figures(evidence),
        violations=found,
        scene=scene,
    )


def run_alone(plan: Plan, *, keep: Path | None = None) -> Report:
    """Make a run on a server of its own."""
    with tempfile.TemporaryDirectory(prefix="backstay-chaos-") as made:
        folder = keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        with PrivatePostgres.start(fsync=False) as server, ExitStack() as others:
            redis = others.enter_context(PrivateRedis.start()) if plan.redis else None
            return asyncio.run(run(plan, server, database="chaos", folder=folder, redis=redis))


@asynccontextmanager
async def _occupied(grounds: Field, plan: Plan) -> Any:
    """The field with all posts held; at the end everybody is gone."""
    keeper: asyncio.Task[None] | None = None
    try:
        for machine in plan.machines:
            await grounds.add_worker(machine=machine, **plan.worker)
        # Before anything is produced: on a busy machine processes take long to start, and faults need jobs to spoil.
        await _all_started(grounds)
        producer = await grounds.add_producer(
            jobs=plan.jobs,
            seed=plan.seed,
            rate=plan.rate,
            until=str(_enough(grounds)) if plan.goes_on else None,
            **{"besides": ["poison"] * plan.poisons, "beat": not plan.producer, **plan.producer},
        )
        keeper = asyncio.create_task(_keep_posts(grounds))
        yield producer
        keeper.cancel()
        await _dismiss(grounds.workers)
    finally:
        if keeper is not None:
            keeper.cancel()
        await grounds.close()


async def _keep_posts(grounds: Field) -> None:
    """Whoever died without our doing, of a poisonous job, is replaced."""
    while True:
        for post in grounds.workers:
            if not post.is_harmed and not post.is_running:
                post.start()
        await asyncio.sleep(0.2)


async def _harm(grounds: Field, producer: Post, plan: Plan, landed: list[str]) -> None:
    """Do one fault after another, several at a time but one a post, until enough have landed."""
    chance = random.Random(plan.seed)
    running: set[asyncio.Task[None]] = set()
    upcoming: list[str] = []
    servers = [Post(name, "", producer.proxy, grounds.folder, {}) for name in ("database", "redis")]

    async def do(name: str, harm: faults.Harm, post: Post, own: random.Random) -> None:
        try:
            shown = await harm(grounds, post, own)
        except ProcessLookupError:
            shown = {"landed": False, "error": "the process had just left"}
        finally:
            post.is_harmed = False
        grounds.note(fault=name, post=post.name, **shown)
        if shown["landed"]:
            landed.append(name)
        elif name not in landed:
            # A short run sees every class only if one that found nothing to harm comes again.
            upcoming.append(name)

    while len(landed) + len(running) < plan.faults or running:
        _ensure_health(producer, grounds)
        upcoming = [name for name in upcoming or _deck(plan, chance) if _can_land(name, producer)]
        if not upcoming and not running:
            # Whoever could have been harmed has done its work and left.
            break
        if len(landed) + len(running) < plan.faults and upcoming:
            name = upcoming.pop()
            harm, posts = _aim(name, grounds, producer, *servers)
            free = [post for post in posts if not post.is_harmed and (post.is_running or post in servers)]
            if free:
                post = chance.choice(free)
                post.is_harmed = True
                own = random.Random(chance.random())
                task = asyncio.create_task(do(name, harm, post, own))
                running.add(task)
                task.add_done_callback(running.discard)
            else:
                upcoming.insert(0, name)
        await asyncio.sleep(plan.pause * chance.uniform(0.3, 1.7))
    _enough(grounds).touch()


def _enough(grounds: Field) -> Path:
    """The file that tells the producer that it need not go on for the sake of faults."""
    return grounds.folder / "enough"


def _can_land(name: str, producer: Post) -> bool:
    return name not in faults.OF_PRODUCER or producer.is_running or producer.is_harmed


def _ensure_health(producer: Post, grounds: Field) -> None:
    """A producer that fails of itself is no fault of ours, and nothing that comes after would mean anything."""
    assert producer.process is not None
    if not producer.is_harmed and producer.process.poll() not in (None, 0):
        told = (grounds.folder / "errors-producer").read_text()[-2000:]
        raise AssertionError(f"the producer ended with {producer.process.returncode}: {told}")


def _deck(plan: Plan, chance: random.Random) -> list[str]:
    """The faults of one round in a new order: every class comes, the light ones more often."""
    every = {**faults.OF_WORKERS, **faults.OF_PRODUCER, **faults.OF_DATABASE}
    if plan.redis:
        every |= OF_REDIS
    deck = [name for name, (_, times) in every.items() for _ in range(times)]
    deck = [name for name in deck if not plan.only or name in plan.only]
    chance.shuffle(deck)
    # A short run sees every class as well.
    first = sorted(set(deck), key=lambda _: chance.random())
    for name in first:
        deck.remove(name)
    return [*deck, *first]


def _aim(
    name: str, grounds: Field, producer: Post, database: Post, redis: Post
) -> tuple[faults.Harm, Sequence[Post]]:
    if name in faults.OF_WORKERS:
        return faults.OF_WORKERS[name][0], grounds.workers
    if name in faults.OF_PRODUCER:
        return faults.OF_PRODUCER[name][0], [producer]
    if name in OF_REDIS:
        return OF_REDIS[name][0], [redis]
    return faults.OF_DATABASE[name][0], [database]


async def _all_started(grounds: Field) -> None:
    alive = "SELECT count(*) FROM backstay.workers WHERE state = 'alive'"

    async def all_alive() -> bool:
        return (await grounds.value(alive) or 0) >= len(grounds.workers)

    assert await comes_true(all_alive, within=60), "the workers did not start"


async def _quiet(grounds: Field, producer: Post, plan: Plan) -> Any:
    """No more faults: what was accepted must come to its end. Returns the scene if it does not."""
    await comes_true(lambda: not producer.is_running, within=plan.patience, every=0.2)
    _ensure_health(producer, grounds)
    open_jobs = (
        "SELECT count(*) FROM backstay.jobs WHERE state IN ('scheduled', 'held', 'available', 'running')"
    )

    # However long it takes, as long as jobs come to their end: those that may kill their worker run one at a time.
    fewest, since = None, time.monotonic()
    while time.monotonic() - since < plan.drain:
        left = await grounds.value(open_jobs)
        if left == 0:
            return None
        if left is not None and (fewest is None or left < fewest):
            fewest, since = left, time.monotonic()
        await asyncio.sleep(0.3)
    return json.loads(await grounds.value(SCENE) or '"the database cannot be reached"')


async def _dismiss(workers: Sequence[Post]) -> None:
    for post in workers:
        if post.is_running:
            post.signal(signal.SIGTERM)
    for post in workers:
        await post.has_left(within=20)


def _commit() -> str:
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    return asked.stdout.strip() or "unknown"
