"""Jobs that must not run all at once: a limit for each customer, a rate, an order, and an operator who changes one."""

import asyncio
from collections import Counter

from backstay import Backstay, Limit, Rate

app = Backstay("sqlite://:memory:")
app.queue("mail", limit=10, per_worker=3)
app.ceiling(50)

running: Counter[int] = Counter()
most: Counter[int] = Counter()
booked: list[int] = []


@app.job(limit=Limit(2, key="customer:{customer}"))
async def send_invoice(customer: int, number: int) -> None:
    running[customer] += 1
    most[customer] = max(most[customer], running[customer])
    await asyncio.sleep(0.01)
    running[customer] -= 1


@app.job(rate=Rate("50/s", burst=5, key="host:{host}"))
async def call(host: str) -> None: ...


@app.job(ordered_by="account:{account}")
async def book(account: int, entry: int) -> None:
    booked.append(entry)


async def main() -> None:
    await app.jobs.enqueue_many([send_invoice.args(customer=n % 3, number=n) for n in range(30)])
    await app.jobs.enqueue_many([call.args(host="example.org") for _ in range(10)])
    for entry in range(5):
        await book.enqueue(account=7, entry=entry)

    async with app.working(concurrency=20):
        jobs = (await app.jobs.search()).jobs
        for job in jobs:
            await app.jobs.result(job.id, timeout=30)

        print("at the same time, at most:", dict(sorted(most.items())))
        print("booked in order:", booked)
        await app.limits.set("key_limit", 1, kind="send_invoice", reason="they complained", by="ada")
        for change in await app.limits.changes():
            print(f"{change.field} of {change.name} by {change.set_by}: {change.reason}")
    await app.close()


asyncio.run(main())
