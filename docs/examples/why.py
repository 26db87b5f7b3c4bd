"""Why a job does not run, and what else is wrong."""

import asyncio

from backstay import Backstay

app = Backstay()


@app.job(queue="mail")
async def send(number: int) -> int:
    return number


async def why() -> None:
    await app.queues.pause("mail", reason="the mail server moves", by="ada")
    job = await send.enqueue(number=1)
    for sentence in await app.doctor.why(job.id):
        print(sentence)


async def check() -> None:
    for finding in await app.doctor.check():
        print(finding.severity, finding.code, finding.count)
        print("  what to do:", finding.advice)


async def main() -> None:
    await why()
    await check()
    await app.close()


if __name__ == "__main__":
    asyncio.run(main())
