"""Jobs of another release: those that fit run, those that do not are held, and what has lost its use is ignored."""

import asyncio
from typing import Any
from uuid import UUID

from backstay import Backstay, State

app = Backstay()


@app.job
async def report(month: int, colour: str = "red") -> str:
    """A new argument with a default: jobs that were stored without it still fit."""
    return f"month {month} in {colour}"


@app.job(extra="ignore")
async def remind(user_id: int) -> str:
    """An argument is gone: jobs that were stored with it run without it."""
    return f"user {user_id} is reminded"


async def stored_by_another_release(kind: str, **args: Any) -> UUID:
    """A job with arguments that this program would refuse to store."""
    other = Backstay(app.url)
    other.declare(kind)
    stored = await other.jobs.enqueue_by_name(kind, args)
    await other.close()
    return stored.id


async def main() -> None:
    older = await stored_by_another_release("report", month=7)
    newer = await stored_by_another_release("report", month=7, paper="A4")
    reminder = await stored_by_another_release("remind", user_id=7, channel="fax")

    async with app.working():
        print(await app.jobs.result(older, timeout=30))
        print(await app.jobs.result(reminder, timeout=30))
        for _ in range(600):
            job = await app.jobs.get(newer)
            if job.state is State.HELD:
                print(f"{job.reason}: {(job.error or {})['message']}")
                break
            await asyncio.sleep(0.05)
    await app.close()


asyncio.run(main())
