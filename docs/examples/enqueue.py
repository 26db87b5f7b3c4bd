"""Every way to enqueue on its own, without a transaction around it."""

import asyncio
from datetime import UTC, datetime, timedelta

from backstay import Backstay, State
from backstay.errors import IdempotencyMismatch, InvalidArguments

app = Backstay()


@app.job(queue="mail", timeout="30s")
async def send_mail(to: str, subject: str = "Hello") -> str:
    return f"{subject} to {to}"


async def one() -> None:
    job = await send_mail.enqueue(to="ada@example.org")
    print("stored", job.id, "new:", job.is_new)


async def later() -> None:
    await send_mail.options(delay="10m").enqueue(to="ada@example.org")
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    await send_mail.options(run_at=tomorrow).enqueue(to="ada@example.org")


async def urgent() -> None:
    job = await send_mail.options(priority=1, queue="express", tags=["vip"]).enqueue(to="ada@example.org")
    print((await job.get()).queue)


async def with_a_key() -> None:
    welcome = send_mail.options(key="welcome-7")
    first = await welcome.enqueue(to="ada@example.org")
    again = await welcome.enqueue(to="ada@example.org")
    assert again.id == first.id
    assert not again.is_new

    try:
        await welcome.enqueue(to="bob@example.org")
    except IdempotencyMismatch as error:
        print(error)


async def only_one_at_a_time() -> None:
    # As long as an equal job has not ended, enqueueing finds it.
    sync = send_mail.options(unique=True)
    first = await sync.enqueue(to="list@example.org")
    again = await sync.enqueue(to="list@example.org")
    assert again.id == first.id

    # At most one in each hour of the database's clock, whatever became of it.
    await send_mail.options(unique="digest", unique_for="1h").enqueue(to="list@example.org")


async def quietly() -> None:
    # Three changes within five seconds: one mail, to the last address.
    for reader in ("a", "b", "c"):
        debounced = send_mail.options(debounce="5s", key="address-changed-7")
        await debounced.enqueue(to=f"{reader}@example.org")

    # The first of every ten seconds; the others find it.
    throttled = send_mail.options(throttle="1/10s", key="alert-7")
    await throttled.enqueue(to="ops@example.org")
    again = await throttled.enqueue(to="ops@example.org")
    print("stored again" if again.is_new else "told already")


async def many() -> None:
    readers = [f"reader{number}@example.org" for number in range(500)]
    jobs = await send_mail.enqueue_many([{"to": reader} for reader in readers])
    print(len(jobs), "stored, all or none")


async def mixed() -> None:
    # Jobs of several kinds, or each with options of its own.
    first = send_mail.args(to="ada@example.org")
    second = send_mail.options(delay="1h", priority=2).args(to="bob@example.org")
    await app.jobs.enqueue_many([first, second])


async def by_name() -> None:
    # The handler lives in another program; here only its name is known.
    app.declare("make_report", queue="reports")
    await app.jobs.enqueue_by_name("make_report", {"month": "2026-10"})


async def refused() -> None:
    try:
        await app.jobs.enqueue_by_name("send_mail", {"to": 7})
    except InvalidArguments as error:
        print(error)


async def cancel() -> None:
    job = await send_mail.options(delay="1h").enqueue(to="ada@example.org")
    await job.cancel("changed their mind")
    assert (await job.get()).state is State.CANCELLED


async def main() -> None:
    for step in (one, later, urgent, with_a_key, only_one_at_a_time, quietly, many, by_name, refused, cancel):
        await step()
    await app.close()


asyncio.run(main())
