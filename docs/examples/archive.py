"""Old jobs go to a folder before they are removed, and come back from there."""

import asyncio
from datetime import timedelta
from pathlib import Path

from backstay import Backstay

app = Backstay(settings={"archive_to": str(Path("archive").absolute())})


@app.job
async def bill(number: int) -> str:
    return f"bill {number}"


async def archive_all() -> str:
    """Everything that has ended, however young; returns the name of the file."""
    done = await app.archive.run(older_than=timedelta(0))
    print(f"{done.jobs} jobs written, {done.removed} removed")
    return done.files[0].name


async def look_at(name: str) -> None:
    """Is the file whole? Then put its jobs back."""
    for check in await app.archive.verify(name):
        print(check.problem or f"{check.jobs} jobs, whole")
    restored = await app.archive.restore(name)
    print(f"{restored.jobs} jobs put back")


async def main() -> None:
    async with app.working():
        jobs = [await bill.enqueue(number=number) for number in range(3)]
        results = [await job.result() for job in jobs]
    name = await archive_all()
    await look_at(name)
    assert [(await job.get()).result for job in jobs] == results
    await app.close()


asyncio.run(main())
