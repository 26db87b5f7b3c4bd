"""Lanes and categories that a profile declares, and what happens to others."""

import asyncio

from backstay import Backstay, PriorityScale, Profile
from backstay.errors import InvalidPolicy
from backstay.records import JobFilter

app = Backstay(
    profile=Profile(
        name="clinic",
        # For all kinds, and for one kind only.
        lanes={"quick": (), "slow": ("scan",)},
        categories=("labs", "letters"),
        priority=PriorityScale(first="high", names={"urgent": 1}),
        tenant_alias="practice_id",
    )
)


@app.job(queue="slow")
async def scan(page: int) -> int:
    return page


async def main() -> None:
    await app.migrate()
    await scan.options(category="labs", priority="urgent").enqueue(page=1)
    try:
        await scan.options(queue="night").enqueue(page=2)
    except InvalidPolicy as refused:
        print(refused)

    found = await app.jobs.search(JobFilter(category="labs"))
    print(len(found.jobs), "job of the category labs")
    await app.close()


asyncio.run(main())
