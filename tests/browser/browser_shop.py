"""The application behind the browser's tests: a dashboard and a worker in one process, until it is told to end."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from backstay import Backstay, Context, Hopeless
from backstay.dashboard import Standalone

app = Backstay(os.environ["BACKSTAY_URL"])


@app.job(queue="mail")
async def send_mail(to: str) -> str:
    """Send one message."""
    return f"sent to {to}"


@app.job(queue="payments", max_attempts=1)
async def charge(order: int) -> None:
    """Ask for money; always refused."""
    raise ConnectionError(f"the gateway refused order {order}")


@app.job(queue="imports")
async def read_file(path: str) -> None:
    raise Hopeless(f"there is no {path}")


@app.job(queue="reports", timeout="10m")
async def report(ctx: Context, pages: int) -> None:
    """Tell how far it is, until somebody stops it."""
    for page in range(pages):
        ctx.progress(page + 1, total=pages, message=f"page {page + 1}")
        await asyncio.sleep(0.2)


@app.job(queue="letters-of-others", max_attempts=1)
async def repeat(ctx: Context, text: str, fails: bool) -> str:
    """Say a text in every way a job can: as progress, as a step's result, and as a result or an error."""
    ctx.progress(1, total=2, message=text)
    await ctx.step("repeat it", lambda: text)
    if fails:
        raise ValueError(text)
    return text


@app.schedule("0 3 * * *", name="nightly")
@app.job(queue="reports")
async def nightly() -> None: ...


async def main() -> None:
    await app.migrate()
    server = Standalone(app, port=0)
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, server.stop)
    async with app.working(concurrency=4, shutdown_grace="1s"):
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        await server.serve()


if __name__ == "__main__":
    asyncio.run(main())
