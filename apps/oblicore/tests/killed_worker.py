"""A worker that is killed at its n-th statement about our own tables: `python killed_worker.py N KIND JOB`."""

from __future__ import annotations

import asyncio
import sys

from backstay.testing import kill_at_statement
from backstay_oblicore.service import services

OURS = (
    r"oblicore\.(excel_imports|obligations|schedules|deadlines|notifications|document_sentences|extraction_logs|"
    r"documents|parameters|review_queue_items)"
)
CLOSING = {
    "EXCEL_IMPORT_PROCESSING": OURS,
    "DOCUMENT_PROCESSING": OURS,
}


async def work(kind: str, job: str) -> None:
    """Run until the job has ended."""
    async with services.app.working(concurrency=1, kinds=[kind]):
        await services.app.jobs.result(job, timeout=100)
    await services.close()


if __name__ == "__main__":
    number, kind, job = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    with kill_at_statement(number or None, matching=CLOSING[kind]) as statements:
        asyncio.run(work(kind, job))
    sys.stdout.write(f"{statements.count}\n")
