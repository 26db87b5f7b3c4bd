import asyncio

from jobs import app


async def main() -> None:
    for job in (await app.jobs.search()).jobs:
        print(job.args["name"], job.state, job.result)

    for letter in await app.dead_letters.open():
        print("dead:", letter.reason, letter.error and letter.error["message"])
        await app.dead_letters.resolve(letter.job_id, by="you", reason="Bob was told by telephone")
    await app.close()


asyncio.run(main())
