"""Workers: beside an application, as a process of their own, paused and resumed."""

import asyncio
import signal

from backstay import Backstay, State, Worker

app = Backstay()


@app.job(queue="mail")
async def send(number: int) -> int:
    return number


async def embedded() -> None:
    # Inside a web application: handlers share its event loop, the engine has a thread of its own.
    async with app.working(concurrency=20) as worker:
        job = await send.enqueue(number=1)
        print(await job.result(timeout=10), "by", worker.id)


async def alone(worker: Worker) -> None:
    # A program that only works: runs until SIGTERM or Ctrl-C, then lets running jobs finish.
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, worker.stop)
    await worker.run()


async def paused() -> None:
    await app.queues.pause("mail", reason="the mail server moves", by="ada")
    async with app.working(queues=["mail"]):
        job = await send.enqueue(number=2)
        await asyncio.sleep(0.3)
        assert (await job.get()).state is State.AVAILABLE
        print([(pause.queue, pause.reason) for pause in await app.queues.pauses()])

        await app.queues.resume("mail", by="ada")
        print(await job.result(timeout=10))


async def seen() -> None:
    for worker in await app.workers.all():
        print(worker.state, worker.kinds, worker.concurrency)


async def main() -> None:
    await embedded()
    await paused()

    worker = app.worker(queues=["mail"], worker_id="mail-${REGION:-local}", shutdown_grace="10s")
    asyncio.get_running_loop().call_later(0.5, signal.raise_signal, signal.SIGTERM)
    await alone(worker)

    await seen()
    await app.close()


asyncio.run(main())
