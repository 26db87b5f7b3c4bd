"""A worker that is killed at its n-th statement about the application's tables: `python killed_worker.py N`.

Without a number it works until nothing is left and prints how many such statements it sent.
"""

import asyncio
import sys

from backstay.testing import kill_at_statement
from backstay_exora.jobs import app


async def work() -> None:
    """Run what can run, then leave."""
    await app.worker(until_empty=True, concurrency=1, kinds=["ai_processing", "shell_file_processing"]).run()
    await app.close()


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else None
    with kill_at_statement(number, matching=r"exora\.") as statements:
        asyncio.run(work())
    sys.stdout.write(f"{statements.count}\n")
