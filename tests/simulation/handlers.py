"""The jobs of simulated worlds: what each run does is written into its arguments."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from backstay import Backoff, Backstay, Cancel, Context, Hopeless, Limit, Profile, Snooze
from backstay.errors import SignalTimeout
from backstay.handlers.registry import Registry
from backstay.model.policy.policy import change
from simulation.history import Violation
from simulation.virtual_loop import STRAND
from simulation.world import World

WORLD: ContextVar[Stage] = ContextVar("world")

PROFILE = Profile(
    name="simulation",
    policy=change(max_attempts=4, max_crashes=3, backoff=Backoff("1s", cap="8s", jitter=0.3), timeout="40s"),
)

app = Backstay("sqlite://:memory:", profile=PROFILE)


@app.job
async def steady(context: Context, plan: list[str]) -> dict[str, Any]:
    """An ordinary job with the usual lease."""
    return await perform(context, plan)


@app.job(lease="6s", timeout="15s", max_attempts=3)
async def brisk(context: Context, plan: list[str]) -> dict[str, Any]:
    """A job with a short lease."""
    return await perform(context, plan)


@app.job(timeout="1s", queue="narrow")
async def tight(context: Context, plan: list[str]) -> dict[str, Any]:
    """A job whose time limit is kept to the millisecond."""
    return await perform(context, plan)


@app.job(limit=Limit(1, key="room:{room}"), lease="6s", timeout="15s", queue="narrow")
async def alone(context: Context, plan: list[str], room: int) -> dict[str, Any]:
    """A job that shares its room with nobody."""
    return await perform(context, plan)


@app.job(ordered_by="room:{room}", limit=2)
async def queued(context: Context, plan: list[str], room: int) -> dict[str, Any]:
    """A job that waits until every older one of its room has ended."""
    return await perform(context, plan)


@app.job(lease="6s", timeout="15s", max_attempts=4)
async def patient(context: Context, plan: list[str], signals: int, seconds: float | None) -> dict[str, Any]:
    """A job that waits for so many signals, each for so long, and is told the same of them in every run."""
    for number in range(signals):
        try:
            answer = await context.wait_for("go", timeout=seconds)
        except SignalTimeout:
            answer = "too late"
        hear(context, number, answer)
    return await perform(context, plan)


REGISTRY: Registry = app._registry
KINDS = (steady, brisk, tight)
LIMITED = (alone, queued)


@dataclass
class Stage:
    """Where handlers tell what they do."""

    world: World
    suspects: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    runs: int = 0
    heard: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))


def hear(context: Context, number: int, answer: Any) -> None:
    """Note what a wait came to; an earlier run must have been told the same, and signals come in order, each once."""
    stage, job = WORLD.get(), str(context.job_id)
    heard = stage.heard[job]
    if number == len(heard):
        heard.append(answer)
        stage.world.judge.counters["signal timed out" if answer == "too late" else "signal received"] += 1
    elif heard[number] != answer:
        told = f"wait {number + 1} was told {heard[number]!r} and now {answer!r}"
        stage.world.breaks(Violation("same answers", told, job))
    received = [one for one in heard if one != "too late"]
    if received != list(range(1, len(received) + 1)):
        stage.world.breaks(Violation("signals in order", f"it has received {received}", job))


async def perform(context: Context, plan: list[str]) -> dict[str, Any]:
    """Do what the plan says for this run; runs beyond the plan succeed."""
    stage, process = WORLD.get(), STRAND.get().process
    step = plan[context.run - 1] if context.run <= len(plan) else "ok 0.05"
    verb, seconds = step.split()
    stage.runs += 1
    job = str(context.job_id)
    stage.world.note(f"{process.name} run {context.run} begins: {step}", job)
    is_suspect = bool(context.is_suspect)  # type: ignore[attr-defined]  # the worker's own context knows it
    stage.suspects[process.name] += is_suspect
    if stage.suspects[process.name] > 1:
        stage.world.breaks(Violation("suspects apart", f"{process.name} runs two suspects at once", job))
    try:
        return await ACTIONS[verb](stage, context, float(seconds))
    finally:
        stage.suspects[process.name] -= is_suspect


async def succeed(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    told = {"run": context.run, "by": STRAND.get().process.name}
    stage.world.judge.returned[str(context.job_id), context.run] = told["by"]
    return told


async def fail(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    raise ConnectionError("simulated")


async def give_up(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    raise Hopeless("simulated")


async def snooze(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    raise Snooze(seconds)


async def cancel(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    await asyncio.sleep(seconds)
    raise Cancel("simulated")


async def ignore(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    """Go on although asked to stop."""
    loop = asyncio.get_running_loop()
    until = loop.time() + seconds
    while loop.time() < until:
        try:
            await asyncio.sleep(until - loop.time())
        except asyncio.CancelledError:
            continue
    return await succeed(stage, context, 0)


async def crash(stage: Stage, context: Context, seconds: float) -> dict[str, Any]:
    """Take the whole process down."""
    await asyncio.sleep(seconds)
    stage.world.kill(STRAND.get().process, "a handler crashed it")
    await asyncio.Event().wait()
    raise AssertionError("a dead process went on")


Action = Callable[[Stage, Context, float], Any]
ACTIONS: dict[str, Action] = {
    "ok": succeed,
    "fail": fail,
    "hopeless": give_up,
    "snooze": snooze,
    "cancel": cancel,
    "ignore": ignore,
    "crash": crash,
}
