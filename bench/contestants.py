"""Who is measured: what each needs, how it is set up, and what it gives up for its speed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Language = Literal["python", "node"]
Store = Literal["postgres", "redis", "rabbitmq", "sqlite"]
Role = Literal["limit", "ours", "peer"]
MEMORY = "in Redis's memory, not on disk"
ON_DISK = "on disk before the call returns"
HISTORY = ("yes: epoch of the lease", "kept for a week", "yes")


@dataclass(frozen=True)
class Keeps:
    """What a contestant keeps, so that nobody compares speed alone."""

    an_enqueued_job: str
    out_a_late_worker: str
    finished_jobs: str
    results: str


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """One row of the tables; `adapter` is its file in bench/peers."""

    name: str
    adapter: str
    store: Store
    keeps: Keeps
    settings: str
    packages: tuple[str, ...] = ()
    # Taken when the newest releases cannot be installed.
    fallback: tuple[str, ...] = ()
    language: Language = "python"
    role: Role = "peer"
    minimum_python: tuple[int, int] = (3, 11)
    # Given to the adapter as BENCH_OPTION.
    option: str = ""
    # Whether one start makes as many processes as are asked for.
    brings_processes: bool = False
    only_drains: bool = False
    done: str = "when the store says so"


def bare(batch: int) -> Contestant:
    """The bare loop with so many jobs a statement."""
    return Contestant(
        name=f"bare loop {batch}",
        adapter="bare",
        store="postgres",
        role="limit",
        option=str(batch),
        only_drains=batch != 500,
        keeps=Keeps(ON_DISK, "yes: epoch of the lease", "kept", "no"),
        settings=f"asyncpg, one connection, {batch} jobs a claim, no handlers",
    )


BARE = tuple(bare(batch) for batch in (100, 500, 1000))
OURS = (
    Contestant(
        name="backstay postgres",
        adapter="backstay",
        store="postgres",
        role="ours",
        keeps=Keeps(ON_DISK, *HISTORY),
        settings="`backstay worker --concurrency 100 --log-level error`, all else by default",
    ),
    Contestant(
        name="backstay sqlite",
        adapter="backstay",
        store="sqlite",
        role="ours",
        keeps=Keeps(ON_DISK, *HISTORY),
        settings="`backstay worker --concurrency 100 --log-level error`, all else by default",
    ),
)
BARE_SQLITE = Contestant(
    name="bare loop sqlite",
    adapter="bare_sqlite",
    store="sqlite",
    role="limit",
    option="500",
    keeps=Keeps(ON_DISK, "yes: epoch of the lease", "kept", "no"),
    settings="synchronous=FULL, WAL, 500 jobs a claim, no handlers",
)
ON_POSTGRES = (
    Contestant(
        name="pgqueuer",
        adapter="pgqueuer",
        packages=("pgqueuer[asyncpg]", "uvloop"),
        store="postgres",
        keeps=Keeps(ON_DISK, "no: job id only", "deleted; three log rows a job", "no, only the outcome"),
        settings="asyncpg, uvloop, batch_size=200",
    ),
    Contestant(
        name="procrastinate",
        adapter="procrastinate",
        packages=("procrastinate", "psycopg[binary,pool]", "uvloop"),
        store="postgres",
        keeps=Keeps(ON_DISK, "no: job id only", "kept", "no"),
        settings="psycopg pool of 20, uvloop, concurrency=30",
    ),
    Contestant(
        name="oban",
        adapter="oban",
        packages=("oban",),
        store="postgres",
        minimum_python=(3, 12),
        keeps=Keeps(ON_DISK, "no: job id only", "kept for a day", "if recorded"),
        settings="`oban start`, queue limit 100, pool of 20",
    ),
    Contestant(
        name="awa-pg",
        adapter="awa",
        packages=("awa-pg", "uvloop"),
        store="postgres",
        keeps=Keeps(ON_DISK, "yes", "kept, pruned in rings", "no"),
        settings="queue storage, max_workers=100, claimers=2, claim_batch_size=512; bulk by COPY",
    ),
    Contestant(
        name="graphile-worker",
        adapter="graphile",
        packages=("graphile-worker", "pg"),
        language="node",
        store="postgres",
        keeps=Keeps(ON_DISK, "no: job id only", "deleted", "no"),
        settings="its page on performance: concurrentJobs=24, localQueue 500, completeJobBatchDelay=0, "
        "failJobBatchDelay=0",
    ),
    Contestant(
        name="pg-boss",
        adapter="pgboss",
        packages=("pg-boss", "pg"),
        fallback=("pg-boss@~12.35.0", "pg"),
        language="node",
        store="postgres",
        keeps=Keeps(ON_DISK, "partly: by state", "kept for a week", "one for a whole batch"),
        settings="batchSize=1000, burstWhenBatchFull, LISTEN/NOTIFY, pollingIntervalSeconds=0.5",
    ),
)
CELERY = ("celery[redis]", "hiredis")
CELERY_SETTINGS = (
    "prefork, prefetch multiplier 100, early acknowledgement, results only in W4, "
    "no gossip, no mingle, no heartbeat"
)
DRAMATIQ = ("dramatiq[redis,rabbitmq]", "hiredis")
ON_BROKERS = (
    Contestant(
        name="celery redis",
        adapter="celery",
        packages=CELERY,
        store="redis",
        brings_processes=True,
        keeps=Keeps(f"{MEMORY}; lost with the worker that took it", "no", "no", "off here, but in W4"),
        settings=CELERY_SETTINGS,
        done="when the handler has run",
    ),
    Contestant(
        name="celery rabbitmq",
        adapter="celery",
        packages=CELERY,
        store="rabbitmq",
        brings_processes=True,
        keeps=Keeps(
            "persistent, unconfirmed; lost with the worker that took it", "no", "no", "off, but in W4"
        ),
        settings=CELERY_SETTINGS,
        done="when the handler has run",
    ),
    Contestant(
        name="rq",
        adapter="rq",
        packages=("rq", "hiredis"),
        store="redis",
        option="fork",
        keeps=Keeps(MEMORY, "no", "kept for 500 s", "yes"),
        settings="`rq worker`, which forks for each job",
    ),
    Contestant(
        name="rq simple",
        adapter="rq",
        packages=("rq", "hiredis"),
        store="redis",
        option="simple",
        keeps=Keeps(MEMORY, "no", "kept for 500 s", "yes"),
        settings="`SimpleWorker`: no process between the worker and a crash of the job",
    ),
    Contestant(
        name="dramatiq redis",
        adapter="dramatiq",
        packages=DRAMATIQ,
        store="redis",
        brings_processes=True,
        keeps=Keeps(MEMORY, "no", "no", "off here, but in W4"),
        settings="8 threads a process",
    ),
    Contestant(
        name="dramatiq rabbitmq",
        adapter="dramatiq",
        packages=DRAMATIQ,
        store="rabbitmq",
        brings_processes=True,
        keeps=Keeps("persistent, unconfirmed", "no", "no", "no"),
        settings="8 threads a process",
        done="when the handler has run",
    ),
    Contestant(
        name="arq",
        adapter="arq",
        packages=("arq", "hiredis", "uvloop"),
        store="redis",
        keeps=Keeps(MEMORY, "no", "no", "off here, but in W4"),
        settings="uvloop, max_jobs=100, poll_delay=0.01: the default of 0.5 s, at 500 jobs a poll, would be what is "
        "measured in W3 and W4; an idle worker pays for it in W5",
    ),
    Contestant(
        name="taskiq",
        adapter="taskiq",
        packages=("taskiq[uv,orjson]", "taskiq-redis", "hiredis"),
        store="redis",
        brings_processes=True,
        keeps=Keeps(MEMORY, "no", "no", "off here, but in W4"),
        settings="Redis streams, max-async-tasks=100, max-prefetch=100, xread_count=100",
    ),
    Contestant(
        name="huey redis",
        adapter="huey",
        packages=("huey", "redis", "hiredis"),
        store="redis",
        keeps=Keeps(f"{MEMORY}; lost with the worker that took it", "no", "no", "if not None"),
        settings="4 threads, no periodic tasks",
        done="when the handler has run",
    ),
    Contestant(
        name="huey sqlite",
        adapter="huey",
        packages=("huey", "redis", "hiredis"),
        store="sqlite",
        keeps=Keeps(f"{ON_DISK}; lost with the worker that took it", "no", "no", "if not None"),
        settings="4 threads, no periodic tasks",
        done="when the handler has run",
    ),
    Contestant(
        name="saq",
        adapter="saq",
        packages=("saq[redis,hiredis]", "typing_extensions", "uvloop"),
        store="redis",
        keeps=Keeps(MEMORY, "no", "kept for ten minutes", "yes"),
        settings="concurrency=100",
    ),
    Contestant(
        name="bullmq",
        adapter="bullmq",
        packages=("bullmq", "ioredis"),
        language="node",
        store="redis",
        keeps=Keeps(MEMORY, "yes: lock token", "removed", "as an event"),
        settings="concurrency=100, removeOnComplete (the last 1,000 are kept in W4)",
    ),
)
ALL = (*BARE, BARE_SQLITE, *OURS, *ON_POSTGRES, *ON_BROKERS)


def chosen(peers: str) -> tuple[Contestant, ...]:
    """Ourselves and the bare loops always; of the peers all, none, or those named."""
    own = tuple(contestant for contestant in ALL if contestant.role != "peer")
    others = tuple(contestant for contestant in ALL if contestant.role == "peer")
    if peers in ("all", "none"):
        return (*own, *others) if peers == "all" else own
    wanted = [name.strip() for name in peers.split(",")]
    unknown = [name for name in wanted if name not in {contestant.name for contestant in others}]
    if unknown:
        known = ", ".join(contestant.name for contestant in others)
        raise SystemExit(f"no peer is called {unknown[0]!r}; there are {known}, and 'all' and 'none'")
    return (*own, *(contestant for contestant in others if contestant.name in wanted))
