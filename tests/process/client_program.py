"""Programs of clients, each run as a process of its own: `python client_program.py <name> <url>`.

They run with every warning as an error, and print what the test is to compare.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import weakref
from collections.abc import Callable

from backstay import Backstay
from backstay.errors import SyncOnLoop
from backstay.model.events import silent

app = Backstay(sys.argv[2], emit=silent)


@app.job
async def note(n: int) -> int:
    return n


async def enqueue_and_wait() -> int:
    async with app.working():
        return await (await note.enqueue(1)).result(timeout=20)


def run_twice() -> None:
    """Two event loops, one after the other, use what the module made once."""
    loops = []

    async def use() -> int:
        loops.append(weakref.ref(asyncio.get_running_loop()))
        return await enqueue_and_wait()

    say("results", asyncio.run(use()), asyncio.run(use()))
    gc.collect()
    say("loops kept", sum(loop() is not None for loop in loops))


def fork_after_use() -> None:
    """A child enqueues on its own connections, and the parent goes on with the old ones."""
    note.enqueue_sync(1)
    child = os.fork()
    if child == 0:
        note.enqueue_sync(2)
        gc.collect()
        note.enqueue_sync(3)
        app.close_sync()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    note.enqueue_sync(4)
    app.close_sync()
    say("child", os.waitstatus_to_exitcode(status))


def eight_threads() -> None:
    """Threads share the loop behind blocking calls."""
    ids: list[str] = []

    def enqueue() -> None:
        ids.extend(str(note.enqueue_sync(n).id) for n in range(50))

    threads = [threading.Thread(target=enqueue) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    app.close_sync()
    say("ids", len(set(ids)))


def sync_on_loop() -> None:
    """A blocking call on a running loop is refused, and nothing is stored."""

    async def call() -> None:
        try:
            note.enqueue_sync(1)
        except SyncOnLoop as error:
            say("refused", error.call)

    asyncio.run(call())


def leave_without_closing() -> None:
    """Forget to close: nothing is lost, and nothing complains."""
    say("stored", note.enqueue_sync(1).is_new)

    async def use() -> None:
        say("stored", (await note.enqueue(2)).is_new)

    asyncio.run(use())


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    programs: dict[str, Callable[[], None]] = {
        program.__name__: program
        for program in (run_twice, fork_after_use, eight_threads, sync_on_loop, leave_without_closing)
    }
    programs[sys.argv[1]]()
