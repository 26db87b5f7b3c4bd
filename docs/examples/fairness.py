"""Tenants that share a queue: turns, quotas and pauses."""

import asyncio
from collections import Counter

from backstay import Backstay, State
from backstay.errors import QuotaExceeded

app = Backstay()
app.queue("import", fair=True, weights={"enterprise": 3})
order: list[str] = []


@app.job(queue="import")
async def import_rows(tenant: str, rows: int) -> None:
    order.append(tenant)


async def main() -> None:
    # One tenant has a backlog before the others come.
    for tenant, jobs in {"big": 300, "small": 2, "enterprise": 10}.items():
        calls = [import_rows.options(tenant=tenant).args(tenant=tenant, rows=100) for _ in range(jobs)]
        await app.jobs.enqueue_many(calls)

    await app.quotas.set(2, tenant="small", reason="the free plan")
    try:
        await import_rows.options(tenant="small").enqueue(tenant="small", rows=1)
    except QuotaExceeded as refused:
        print(f"{refused.tenant} may have {refused.most} jobs waiting")

    await app.queues.pause(tenant="big", until="2h", reason="their database is being moved")
    late = await import_rows.options(tenant="big").enqueue(tenant="big", rows=1)
    print((await late.get()).state, (await late.get()).reason)
    await app.queues.resume(tenant="big")

    async with app.working(concurrency=1):
        while (await late.get()).state is not State.COMPLETED:
            await late.result(timeout=60)
    print(Counter(order[:12]))
    await app.close()


asyncio.run(main())
