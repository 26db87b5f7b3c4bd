"""Retries, and what a person does when they are used up."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from backstay import Backoff, Backstay, Context, Hopeless, State
from backstay.errors import DeadLetterChanged, JobDead
from backstay.records import DeadLetterFilter

app = Backstay()
is_down = True


@app.job(max_attempts=3, backoff=Backoff("100ms", multiplier=2, jitter=0.2))
async def push(order: int) -> str:
    if is_down:
        raise ConnectionError("the warehouse does not answer")
    return f"order {order} pushed"


async def dies() -> None:
    job = await push.enqueue(order=7)
    try:
        await job.result(timeout=10)
    except JobDead as error:
        print(error)

    for attempt in await app.jobs.attempts(job.id):
        print(attempt.attempt, attempt.status, attempt.error and attempt.error["message"])


@app.job
async def scan(ctx: Context, document: int) -> None:
    ctx.note(provider="eu-2", pages=12)
    ctx.note_partial({"pages_read": [1, 2, 3]})
    raise Hopeless("the scan is cut off", details={"finish_reason": "length", "page": 4})


async def tells_why() -> None:
    job = await scan.enqueue(document=7)
    with suppress(JobDead):
        await job.result(timeout=10)

    error = (await job.get()).error or {}
    print(error["details"], error["partial_result"])


async def looks() -> None:
    for letter in await app.dead_letters.open(kind="push"):
        print(letter.job_id, letter.reason, "after", letter.attempts, "attempts")


async def groups() -> None:
    for group in await app.dead_letters.groups():
        print(group.letters, group.kind, group.error_type, group.message)
        for letter in await app.dead_letters.open(fingerprint=group.fingerprint):
            print("  ", letter.job_id)


async def investigates() -> None:
    [letter] = await app.dead_letters.open(kind="push")

    await app.dead_letters.investigate(letter.job_id, by="ada", note="asked the warehouse")

    try:
        await app.dead_letters.resolve(letter.job_id, by="bob", reason="sent by hand", version=letter.version)
    except DeadLetterChanged as error:
        print(error.by, "was faster; it is", error.status)


async def decides() -> None:
    global is_down
    is_down = False
    [letter] = await app.dead_letters.open(kind="push")

    await app.dead_letters.retry(letter.job_id, by="ada", reason="the warehouse is back")

    print(await app.jobs.result(letter.job_id, timeout=10))


async def gives_up() -> None:
    global is_down
    is_down = True
    job = await push.options(max_attempts=1).enqueue(order=8)
    with suppress(JobDead):
        await job.result(timeout=10)

    await app.dead_letters.resolve(job.id, by="ada", reason="sent by hand")

    assert (await job.get()).state is State.RESOLVED
    for entry in await app.jobs.history(job.id):
        print(entry.actor, entry.action, entry.reason)


async def many() -> None:
    yesterdays = DeadLetterFilter(kind="push", older_than=timedelta(days=1))
    print(await app.dead_letters.count(yesterdays), "would be retried")

    decided = await app.dead_letters.retry_all(yesterdays, by="ada", reason="the warehouse is back", pace=50)

    print(decided.done, "run again,", decided.skipped, "skipped")


async def main() -> None:
    async with app.working():
        for step in (dies, tells_why, looks, groups, investigates, decides, gives_up, many):
            await step()
    await app.close()


asyncio.run(main())
