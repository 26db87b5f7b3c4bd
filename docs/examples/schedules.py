"""Jobs that are made at certain times: declared in code, created while everything runs, filled in afterwards."""

import asyncio
from datetime import UTC, datetime, timedelta

from backstay import Backstay, Context

app = Backstay()


@app.schedule("30 2 * * *", zone="Europe/Berlin", overlap="skip")
@app.job
async def nightly_report(ctx: Context) -> dict[str, int]:
    """`ctx.now` is the time of the fire, however late the job runs and however often it is tried."""
    day = ctx.now.date()
    return {"items": day.day}


@app.job
async def remind(customer: int, day: str) -> str:
    return f"reminded {customer} of {day}"


async def create() -> None:
    """A schedule that a customer has asked for."""
    await app.schedules.create(
        "remind-7",
        remind,
        cron="0 9 * * MON-FRI",
        zone="America/New_York",
        args={"customer": 7, "day": "{fire_date}"},
        jitter="5m",
        missed="skip",
    )
    for fire in await app.schedules.next_fires("remind-7"):
        print("reminds at", fire)


async def operate() -> None:
    """What an operator does stays, whatever the next release declares."""
    await app.schedules.pause("remind-7", reason="the customer is on holiday", by="ann")
    await app.schedules.resume("remind-7", by="ann")
    await app.schedules.set("remind-7", "cron", "0 10 * * MON-FRI", reason="too early", by="ann")
    await app.schedules.unset("remind-7", "cron", by="ann")


async def fill_in() -> int:
    """The fires of a range that have not run: counted first, and then made."""
    last = datetime.now(UTC)
    first = last - timedelta(days=14)
    expected = await app.schedules.preview_back_fill("remind-7", first, last)
    done = await app.schedules.back_fill("remind-7", first, last, most=20)
    assert done.count == expected.count
    return done.count


async def main() -> None:
    await create()
    await operate()
    print(await fill_in(), "reminders are made up for")
    async with app.working():
        # A worker has stored what the code declares.
        job = await app.schedules.run_now("nightly_report", reference_time=datetime(2026, 1, 31, tzinfo=UTC))
        assert job is not None
        print(await job.result(timeout=30))
    [entry] = await app.schedules.history("nightly_report")
    print(entry.trigger, entry.status, entry.items, "items for", entry.reference_time)
    assert entry.items == 31
    await app.close()


if __name__ == "__main__":
    asyncio.run(main())
