"""The program that carries operations out, each in a process of its own that can be killed.

It is told what to do line by line: `arrange <number> <url>` puts the database in order, `act <number> <url>` and
`go-on <number> <url>` do it in a fork, whose id and end are answered. Forks are quick, and everything is imported.
A fork begins when the next line comes: whoever wants to kill it must know its id first.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from copy import deepcopy
from typing import Any

from backstay.composition.connect import open_database, stores_on
from backstay.errors import StoreUnavailable
from backstay.stores.contract import Stores
from backstay.testing.clock import FrozenClock
from chaos import mutants
from chaos.matrix import OPERATIONS
from chaos.operations import CutStore, Operation

Arranged = tuple[Operation, Any, Any]


def main() -> None:
    arranged: Arranged | None = None
    for line in sys.stdin:
        verb, number, url = line.split()
        if verb == "arrange":
            arranged = asyncio.run(arrange(OPERATIONS[int(number)], url))
            answer("arranged")
            continue
        assert arranged is not None
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(tell)
                os.read(told, 1)
                asyncio.run(carry_out(verb, arranged, url))
                code = 0
            finally:
                os._exit(code)
        answer({"pid": pid})
        sys.stdin.readline()
        os.close(told)
        os.close(tell)
        _, status = os.waitpid(pid, 0)
        answer({"code": os.waitstatus_to_exitcode(status)})


async def arrange(operation: Operation, url: str) -> Arranged:
    clock = FrozenClock()
    database = open_database(url, clock=clock)
    given = await operation.arrange(store_at(url, stores_on(database.lane("test")), clock))
    await database.close()
    return operation, given, clock()


def store_at(url: str, stores: Stores, clock: FrozenClock) -> CutStore:
    store = CutStore(stores, clock)
    store.url = url
    return store


async def carry_out(verb: str, arranged: Arranged, url: str) -> None:
    operation, given, now = arranged
    clock = FrozenClock(now)
    # Not closed in order: whoever is cut off has nobody to say goodbye to.
    store = store_at(url, stores_on(open_database(url, clock=clock).lane("settle")), clock)
    act = operation.go_on if verb == "go-on" and operation.go_on is not None else operation.act
    try:
        await act(store, deepcopy(given))
    except StoreUnavailable as error:
        answer({"said": "unavailable", "was_sent": error.was_sent})
    except Exception as error:  # whatever else comes is what the test wants to hear
        answer({"said": f"{type(error).__name__}: {error}"})
    else:
        answer({"said": "done"})


def answer(told: Any) -> None:
    os.write(1, json.dumps(told).encode() + b"\n")


if __name__ == "__main__":
    mutants.plant_chosen()
    main()
