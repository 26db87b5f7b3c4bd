"""An operator changes a number of a kind while its worker runs."""

import asyncio
import contextlib

from backstay import Backoff, Backstay
from backstay.errors import JobDead

app = Backstay("sqlite://:memory:")


@app.job(max_attempts=1, backoff=Backoff.fixed("10ms"))
async def send_mail(to: str) -> None:
    raise ConnectionError("the mail server does not answer")


async def tries() -> int:
    job = await send_mail.enqueue(to="ada@example.org")
    with contextlib.suppress(JobDead):
        await job.result(timeout=10)
    return (await job.get()).attempt


async def main() -> None:
    async with app.working():
        print("by the code:", await tries())
        await app.overrides.set("max_attempts", 3, kind="send_mail", reason="the server is flaky", by="ada")
        while (tried := await tries()) == 1:
            print("not yet")
        print("overridden:", tried)
        for override in await app.overrides.all():
            print(f"{override.field} of {override.name} by {override.set_by}: {override.reason}")
        await app.overrides.unset("max_attempts", kind="send_mail", by="ada")
    await app.close()


asyncio.run(main())
