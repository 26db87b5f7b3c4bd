"""Workers, the leader, kinds and pauses: what processes know of each other."""

from __future__ import annotations

from typing import Any

from backstay.model.outcome import Crashed
from backstay.model.records import AuditFilter, KindRecord, Tick, Vitals
from backstay.testing.contract.support import DAY, HOUR, MINUTE, SECOND, Store, new_worker


async def _tick(store: Store, worker: str, **vitals: Any) -> Tick:
    return await store.stores.workers.tick(
        worker, vitals=Vitals(**vitals), lease=30 * SECOND, overrun=10 * SECOND
    )


async def test_a_worker_is_entered_with_everything_about_it(store: Store) -> None:
    """ENG-041."""
    await store.stores.workers.register(
        new_worker("w", host="lathe", pid=42, kinds=("a", "b"), queues=("x",), concurrency=7)
    )

    [worker] = await store.stores.workers.all()

    assert (worker.id, worker.state, worker.host, worker.pid) == ("w", "alive", "lathe", 42)
    assert (worker.kinds, worker.queues, worker.concurrency, worker.running) == (("a", "b"), ("x",), 7, 0)
    assert (worker.started_at, worker.heartbeat_at) == (store.now(), store.now())


async def test_a_sign_of_life_is_dated_and_says_how_much_runs(store: Store) -> None:
    """ENG-041."""
    await store.register("w")
    store.later(10 * SECOND)

    tick = await _tick(store, "w", running=3)

    [worker] = await store.stores.workers.all()
    assert tick.is_alive
    assert (worker.heartbeat_at, worker.running, worker.silent_for) == (store.now(), 3, 0 * SECOND)


async def test_a_sign_of_life_says_how_the_worker_fares(store: Store) -> None:
    """ENG-041."""
    await store.register("w", type="import")
    before = (await store.stores.workers.all())[0]

    await _tick(store, "w", settled=12, tainted=1, cpu_percent=37.5, rss_mb=210, loop_lag_ms=4)

    [worker] = await store.stores.workers.all()
    assert (before.type, before.cpu_percent, before.rss_mb, before.loop_lag_ms) == (
        "import",
        None,
        None,
        None,
    )
    assert (worker.settled, worker.tainted) == (12, 1)
    assert (worker.cpu_percent, worker.rss_mb, worker.loop_lag_ms) == (37.5, 210, 4)


async def test_a_silent_worker_is_given_up(store: Store) -> None:
    """ENG-041: and learns of it with its next sign of life, so that it starts again under a new id."""
    await store.register("silent")
    store.later(20 * SECOND)
    await store.register("lively")
    store.later(11 * SECOND)

    dead = await store.stores.workers.declare_dead(silence=30 * SECOND)

    assert dead == ["silent"]
    assert not (await _tick(store, "silent")).is_alive
    assert (await _tick(store, "lively")).is_alive


async def test_a_leader_hears_how_long_the_quietest_worker_is_silent(store: Store) -> None:
    """ENG-041: so that it need not look for silent workers while there are none."""
    for name in ("lively", "silent", "left"):
        await store.register(name)
    await store.stores.workers.retire("left", state="stopped")
    await _tick(store, "lively")
    store.later(20 * SECOND)
    await _tick(store, "silent")
    store.later(11 * SECOND)

    tick = await _tick(store, "lively")

    assert tick.look is not None
    assert tick.look.silence == 11 * SECOND


async def test_an_unknown_worker_is_not_alive(store: Store) -> None:
    assert not (await _tick(store, "stranger")).is_alive


async def test_a_stopping_worker_still_gives_signs_of_life(store: Store) -> None:
    """ENG-043: it drains, so its jobs must not be taken from it."""
    await store.register("w")

    await store.stores.workers.retire("w", state="stopping")

    assert (await _tick(store, "w")).is_alive


async def test_a_stopped_worker_is_not_declared_dead(store: Store) -> None:
    await store.register("w")
    await store.stores.workers.retire("w", state="stopped")
    store.later(HOUR)

    assert await store.stores.workers.declare_dead(silence=MINUTE) == []
    assert [worker.state for worker in await store.stores.workers.all()] == ["stopped"]


async def test_the_living_are_listed_first(store: Store) -> None:
    for name in ("gone", "busy", "leaving"):
        await store.register(name)
    await store.stores.workers.retire("gone", state="stopped")
    await store.stores.workers.retire("leaving", state="stopping")

    assert [worker.id for worker in await store.stores.workers.all()] == ["busy", "leaving", "gone"]


async def test_workers_that_ended_long_ago_are_forgotten(store: Store) -> None:
    await store.register("gone")
    await store.stores.workers.retire("gone", state="stopped")
    await store.register("asleep")
    store.later(2 * DAY)

    await store.forget_unused()

    assert [worker.id for worker in await store.stores.workers.all()] == ["asleep"]


async def test_one_worker_leads_at_a_time(store: Store) -> None:
    for name in ("a", "b"):
        await store.register(name)

    first, second, again = await _tick(store, "a"), await _tick(store, "b"), await _tick(store, "a")

    assert (first.is_leader, second.is_leader, again.is_leader) == (True, False, True)


async def test_a_leader_that_falls_silent_is_followed(store: Store) -> None:
    for name in ("a", "b"):
        await store.register(name)
    await _tick(store, "a")
    store.later(31 * SECOND)

    assert (await _tick(store, "b")).is_leader
    assert not (await _tick(store, "a")).is_leader


async def test_a_leader_that_resigns_is_followed_at_once(store: Store) -> None:
    for name in ("a", "b"):
        await store.register(name)
    await _tick(store, "a")

    await store.stores.workers.resign("a")

    assert (await _tick(store, "b")).is_leader


async def test_only_the_leader_itself_can_resign(store: Store) -> None:
    for name in ("a", "b"):
        await store.register(name)
    await _tick(store, "a")

    await store.stores.workers.resign("b")

    assert not (await _tick(store, "b")).is_leader


async def test_the_leader_learns_what_there_is_to_do(store: Store) -> None:
    await store.register("w")
    idle = (await _tick(store, "w")).look
    await store.enqueue(delay=MINUTE)
    await store.enqueue(expires_in=SECOND)
    await store.enqueue(deadline_in=SECOND)
    await store.claimed(kind="long", lease=SECOND)
    store.later(10 * SECOND)

    busy = (await _tick(store, "w")).look

    assert idle is not None
    assert busy is not None
    assert (idle.due_in, idle.has_expired, idle.has_unstarted, idle.has_late) == (None, False, False, False)
    assert (busy.due_in, busy.has_expired, busy.has_unstarted, busy.has_late) == (
        50 * SECOND,
        True,
        True,
        True,
    )


async def test_nothing_that_nobody_can_do_is_announced_to_the_leader(store: Store) -> None:
    """A job that was started in time never expires, so it is no work for anybody."""
    claim = await store.claimed(expires_in=SECOND)
    await store.end(claim, Crashed("w"))
    store.later(MINUTE)

    look = (await _tick(store, "w")).look

    assert look is not None
    assert not look.has_unstarted


KIND = KindRecord(kind="report", queue="default", policy={"max_attempts": 3}, arguments=None, fingerprint="1")


async def test_a_kind_is_known_to_processes_without_its_handler(store: Store) -> None:
    await store.stores.kinds.declare([KIND])

    [known] = await store.stores.kinds.all()

    assert (known.kind, known.queue, known.policy, known.fingerprint) == (
        "report",
        "default",
        {"max_attempts": 3},
        "1",
    )
    assert (known.conflict, known.updated_at) == (None, store.now())


async def test_the_newest_word_on_a_kind_wins_and_the_disagreement_is_kept(store: Store) -> None:
    newer = KindRecord(
        kind="report", queue="slow", policy={}, arguments={"type": "object"}, fingerprint="2", declared_by="b"
    )
    await store.stores.kinds.declare([KIND])

    await store.stores.kinds.declare([newer])

    [known] = await store.stores.kinds.all()
    assert (known.queue, known.arguments, known.fingerprint) == ("slow", {"type": "object"}, "2")
    assert known.conflict == {"fingerprint": "1", "declared_by": None}


async def test_the_same_word_on_a_kind_changes_nothing(store: Store) -> None:
    await store.stores.kinds.declare([KIND])
    before = await store.stores.kinds.all()
    store.later(HOUR)

    await store.stores.kinds.declare([KIND])

    assert await store.stores.kinds.all() == before


async def test_pauses_are_listed_with_who_when_and_why(store: Store) -> None:
    """ENG-093."""
    await store.stores.queues.pause(queue="mail", kind=None, actor="ann", reason="provider down")
    await store.stores.queues.pause(queue=None, kind="report", actor="ben", reason="wrong numbers")

    pauses = await store.stores.queues.pauses()

    assert [(pause.queue, pause.kind, pause.paused_by, pause.reason) for pause in pauses] == [
        (None, "report", "ben", "wrong numbers"),
        ("mail", None, "ann", "provider down"),
    ]
    assert {pause.paused_at for pause in pauses} == {store.now()}


async def test_resuming_what_is_not_paused_says_so(store: Store) -> None:
    """ENG-093."""
    await store.stores.queues.pause(queue="mail", kind=None, actor="ann", reason="provider down")

    first = await store.stores.queues.resume(queue="mail", kind=None, actor="ann")
    second = await store.stores.queues.resume(queue="mail", kind=None, actor="ann")

    assert (first, second) == (True, False)


async def test_a_worker_may_enter_twice_under_its_id(store: Store) -> None:
    """The reply to the first time was lost; nobody else can have the id."""
    await store.stores.workers.register(new_worker("w"))

    await store.stores.workers.register(new_worker("w"))

    [entered] = await store.stores.workers.all()
    assert (entered.id, entered.state) == ("w", "alive")


async def test_entering_again_brings_no_worker_back_that_was_given_up(store: Store) -> None:
    await store.stores.workers.register(new_worker("w"))
    await store.stores.workers.declare_one_dead("w")

    await store.stores.workers.register(new_worker("w"))

    assert not (await _tick(store, "w")).is_alive


async def test_every_tick_tells_the_time_of_the_database(store: Store) -> None:
    """Only who has compared it for a while can tell that it jumped, and the leader may change at any time."""
    for worker in ("leader", "other"):
        await store.register(worker)

    assert (await _tick(store, "leader")).now == (await _tick(store, "other")).now == store.now()


async def test_a_living_worker_reads_what_it_was_told(store: Store) -> None:
    await store.register("w")
    workers = store.stores.workers
    before = (await _tick(store, "w")).tick_info.told
    store.later(SECOND)

    heard = []
    for told in ("drain", "resume", "stop"):
        assert await workers.tell("w", told, actor="ann", reason="a new kernel")
        heard += [(await _tick(store, "w")).tick_info.told, (await workers.tick_info("w")).told]

    [worker] = await workers.all()
    lines = await store.stores.audit.search(AuditFilter(actor="ann"), before=None, limit=9)
    assert (before, heard) == (None, ["drain", "drain", "resume", "resume", "stop", "stop"])
    assert (worker.told, worker.told_by, worker.told_at) == ("stop", "ann", store.now())
    assert [(line.action, line.reason, line.details) for line in reversed(lines)] == [
        (f"worker.{told}", "a new kernel", {"worker": "w"}) for told in ("drain", "resume", "stop")
    ]


async def test_a_worker_that_left_or_never_was_is_told_nothing(store: Store) -> None:
    await store.register("w")
    await store.stores.workers.retire("w", state="stopped")

    told = [await store.stores.workers.tell(name, "drain", actor="ann", reason=None) for name in ("w", "x")]

    assert told == [False, False]
    assert await store.stores.audit.search(AuditFilter(actor="ann"), before=None, limit=9) == []
