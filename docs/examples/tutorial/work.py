import asyncio
import signal

from jobs import app


async def main() -> None:
    worker = app.worker()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, worker.stop)
    await worker.run()


asyncio.run(main())
