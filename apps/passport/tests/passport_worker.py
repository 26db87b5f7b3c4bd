"""Worker processes for the tests, forked from one that has everything loaded.

It reads lines `<address of a database> <statement>` and starts a worker for each. The worker works until no job is
left, or kills itself with signal 9 at the statement of that number (0 for never). One line tells how it ended: the
exit code and the number of statements, or what was printed instead.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback

from backstay.testing import kill_at_statement
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.types_of_jobs import waiting_jobs

# All that is written, by handlers and by the engine for them, every commit, and what handlers read.
COUNTED = (
    r"^\s*(INSERT|UPDATE|DELETE|COMMIT|SAVEPOINT|RELEASE)|\b(document_versions|documents|files|facts|data_snapshots"
    r"|snapshot_items|snapshot_secrets|rule_package_versions|battery_products|battery_units|passports"
    r"|passport_versions|events|webhook_endpoints|webhook_deliveries|signing_keys)\b"
)


def work(url: str, last: int) -> int:
    """Work until nothing is left, or die at a statement; return how many statements there were."""
    settings = Settings(
        database_url=url, build_id="test-build", signing_key_id="test-key-1", webhook_allow=("127.0.0.1",)
    )
    services = build(settings)

    async def until_empty() -> None:
        async with services.app.working(concurrency=1):
            while await asyncio.to_thread(waiting_jobs, services):
                await asyncio.sleep(0.05)

    with kill_at_statement(last or None, matching=COUNTED) as statements:
        asyncio.run(until_empty())
        services.close()
    return statements.count


def main() -> None:
    """Start a worker for each line; several lines at once are several workers beside each other."""
    for line in sys.stdin:
        children = [_fork(*one.split()) for one in line.strip().split(";")]
        told = []
        for child, reading in children:
            with os.fdopen(reading, encoding="utf-8") as pipe:
                said = pipe.read()
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            told.append(f"{status} {said!r}")
        sys.stdout.write("\t".join(told) + "\n")
        sys.stdout.flush()


def _fork(url: str, last: str) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    code = 1
    try:
        said = str(work(url, int(last)))
        code = 0
    except BaseException:
        said = traceback.format_exc()
    os.write(writing, said.encode()[-4000:])
    os._exit(code)


if __name__ == "__main__":
    main()
