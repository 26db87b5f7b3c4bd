"""Yesterday in a minute: every fire of a day, with failing mirrors, hanging jobs and drifting bills; then again."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from backstay_parts.demo import Demo, run_demo
from backstay_watchpoint.demo.acts import Acts
from backstay_watchpoint.demo.stack import start_ours, start_outside
from backstay_watchpoint.domain.catalogue import TASKS
from backstay_watchpoint.jobs import build
from backstay_watchpoint.platform import system_clock
from backstay_watchpoint.settings import Settings

COLUMNS = ["task", "day", "items"]
TITLE = "Watchpoint: yesterday in a minute"


def main(argv: Sequence[str]) -> int:
    """Tell the story; `--keep` leaves everything running, `--sqlite` uses a file instead of PostgreSQL."""
    given = [part for part in argv if part != "--sqlite"]
    stack = ExitStack()
    use_sqlite = "--sqlite" in argv

    async def story(demo: Demo) -> None:
        await tell(demo, stack, use_sqlite=use_sqlite)

    try:
        return run_demo(TITLE, COLUMNS, story, argv=given)
    finally:
        stack.close()


async def tell(demo: Demo, stack: ExitStack, *, use_sqlite: bool = False) -> None:
    """Start everything, live through yesterday, and check the sums."""
    now = system_clock()
    day = datetime.combine(now.date() - timedelta(days=1), datetime.min.time(), tzinfo=UTC)
    database_url = f"sqlite:///{demo.folder}/watchpoint.db" if use_sqlite else None
    demo.event("starting database, object store with three mirrors, Stripe, provider and mail server")
    running = await asyncio.to_thread(start_outside, stack, demo.folder, database_url=database_url)
    jobs = build(Settings.from_environment(running.environment))
    acts = Acts(demo, running, jobs, day)
    try:
        await acts.migrate()
        # Our processes take some seconds to start; nothing is asked of them before everything is prepared.
        await asyncio.gather(asyncio.to_thread(start_ours, stack, running), acts.prepare())
        demo.link("operations page", f"{running.web_url}/ops?day={day:%Y-%m-%d} (ops, watchpoint)")
        for task in TASKS:
            demo.row(task.name)
        await acts.live_through()
        await acts.added_tasks()
        await acts.mails()
        await acts.approve()
        await acts.again()
        await acts.clean_up()
        await acts.killed()
    finally:
        await jobs.platform.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
