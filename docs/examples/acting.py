"""What a web page or an API does for somebody: their tenant, their rights, their name."""

import asyncio

from backstay import Backstay
from backstay.errors import Forbidden, JobNotFound
from backstay.records import Acting

app = Backstay()


@app.job
async def report(month: str) -> None: ...


def for_user(name: str, company: str) -> Acting:
    return app.acting_as(
        name, tenant=company, rights={"jobs.read", "jobs.enqueue", "dead_letters.*", "audit.read"}
    )


async def main() -> None:
    ann, bob = for_user("ann", "acme"), for_user("bob", "globex")
    job = await ann.jobs.enqueue("report", {"month": "2026-10"})
    print((await ann.jobs.get(job.id)).created_by)
    try:
        await bob.jobs.get(job.id)
    except JobNotFound:
        print("for bob there is no such job")
    try:
        await ann.jobs.cancel(job.id, reason="too late")
    except Forbidden as error:
        print(error)

    operator = app.acting_as("root", tenant="*", rights={"*"})
    await operator.jobs.cancel(job.id, reason="asked by ann")
    for line in await ann.audit.search():
        print(line.actor, line.action, line.reason)
    await app.close()


asyncio.run(main())
