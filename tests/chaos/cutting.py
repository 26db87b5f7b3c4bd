"""Cuts every operation of a store at every statement, and looks what is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from chaos.operations import OPERATIONS, Operation
from chaos.proxy import Fault, Moment, Proxy

TESTS = Path(__file__).resolve().parents[1]
ENDS = ("connection lost", "process killed")
NOT_OURS = ("migrations", "facts")


@dataclass(frozen=True, slots=True)
class Case:
    """One cut: at which statement, when, and what ends."""

    operation: str
    statement: int
    query: str
    moment: Moment
    ends: str

    def __str__(self) -> str:
        return (
            f"{self.operation}, {self.ends} at statement {self.statement} ({self.query}), {self.moment.value}"
        )


class Cutter:
    """One database, a proxy before it, and the program that carries operations out."""

    def __init__(self, url: str, proxy: Proxy, direct: Any, child: asyncio.subprocess.Process) -> None:
        self._url, self._proxy, self._direct, self._child = url, proxy, direct, child
        self._tables: list[str] = []
        self._seen: Any = None
        self.cases = 0

    @classmethod
    @asynccontextmanager
    async def at(cls, url: str, **environment: str) -> AsyncIterator[Cutter]:
        direct = await asyncpg.connect(url)
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "chaos.cut_child",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(TESTS), **environment},
        )
        async with Proxy.before(url) as proxy:
            cutter = cls(url, proxy, direct, child)
            await cutter._prepare()
            try:
                yield cutter
            finally:
                assert child.stdin is not None
                child.stdin.close()
                await child.wait()
                await direct.close()

    async def cut_everywhere(self, number: int) -> list[str]:
        """Every cut of one operation; returns what was wrong, a sentence each."""
        operation = OPERATIONS[number]
        await self._arrange(number)
        before = await self._snapshot()
        statements = await self._observe(number)
        after = await self._snapshot()
        wrong: list[str] = []
        for at, query in enumerate(statements):
            for moment in Moment:
                for ends in ENDS:
                    case = Case(operation.name, at, " ".join(query.split())[:50], moment, ends)
                    wrong += [f"{case}: {told}" for told in await self._cut(number, case, before, after)]
                    self.cases += 1
        return wrong

    async def _cut(self, number: int, case: Case, before: Any, after: Any) -> list[str]:
        operation, wrong = OPERATIONS[number], []
        await self._restore(before)
        said = await self._carry_out_until(number, case)
        left = await self._snapshot()
        if operation.is_atomic and left not in (before, after):
            wrong.append(f"it left neither the state before nor the state after: {_difference(left, after)}")
        if said is not None and (told := _untrue(said, left, before, after)):
            wrong.append(told)
        if operation.go_on or operation.is_repeated or left == before:
            said = await self._say("go-on" if operation.go_on else "act", number, self._url)
            if said != {"said": "done"}:
                wrong.append(f"going on ended with {said}")
        reached = await self._snapshot()
        if not _alike(reached, after, operation):
            wrong.append(f"going on led elsewhere: {_difference(reached, after)}")
        return wrong

    async def _carry_out_until(self, number: int, case: Case) -> Any:
        """Carry the operation out up to the cut; returns what it said of itself, None when it was killed."""
        count, pid = -1, 0

        def is_meant(_: str, __: list[str]) -> bool:
            nonlocal count
            count += 1
            return count == case.statement

        def kill() -> None:
            if case.ends == "process killed":
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        fault = self._proxy.add(Fault(is_meant, case.moment, on_hit=kill))
        await self._ask("act", number, self._proxy.url)
        pid = (await self._hear())["pid"]
        told = await self._hear()
        said = told if "said" in told else None
        if said is not None:
            await self._hear()
        assert fault.seen, f"{case}: the statement did not come"
        return None if case.ends == "process killed" else said

    async def _observe(self, number: int) -> list[str]:
        self._proxy.observed = []
        said = await self._say("act", number, self._proxy.url)
        statements, self._proxy.observed = self._proxy.observed, None
        assert said == {"said": "done"}, f"{OPERATIONS[number].name} does not work undisturbed: {said}"
        return statements

    async def _say(self, verb: str, number: int, url: str) -> Any:
        """Have something carried out to its end; returns what it said."""
        await self._ask(verb, number, url)
        await self._hear()
        said = await self._hear()
        if "said" in said:
            await self._hear()
        return said

    async def _arrange(self, number: int) -> None:
        await self._direct.execute("TRUNCATE " + ", ".join(f"windlass.{table}" for table in self._tables))
        await self._ask("arrange", number, self._url)
        await self._hear()
        await self._all_gone()
        copies = (
            f"DROP TABLE IF EXISTS arranged.{table}; CREATE TABLE arranged.{table} AS TABLE windlass.{table};"
            for table in self._tables
        )
        await self._direct.execute("".join(copies))

    async def _restore(self, before: Any) -> None:
        """Put back those tables that are not as they were when they were last looked at."""
        for table in self._tables:
            if self._seen[table] != before[table]:
                await self._direct.execute(
                    f"DELETE FROM windlass.{table}; INSERT INTO windlass.{table} SELECT * FROM arranged.{table}"
                )

    async def _snapshot(self) -> Any:
        """Everything in the tables; numbers that a sequence gave do not count."""
        await self._all_gone()
        each = ", ".join(
            f"'{table}', (SELECT jsonb_agg(to_jsonb(t) - '{'id' if table == 'audit' else ''}' ORDER BY"
            f" (to_jsonb(t) - 'id')::text, t::text) FROM windlass.{table} AS t)"
            for table in self._tables
        )
        self._seen = json.loads(await self._direct.fetchval(f"SELECT jsonb_build_object({each})"))
        return self._seen

    async def _all_gone(self) -> None:
        """The server notices a client's end in its own time."""
        others = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
            " AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        while await self._direct.fetchval(others):
            await asyncio.sleep(0.001)

    async def _prepare(self) -> None:
        found = await self._direct.fetch(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = 'windlass' AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        self._tables = [row[0] for row in found if row[0] not in NOT_OURS]
        # Rows are put back table by table, so rules between tables must wait.
        await self._direct.execute("CREATE SCHEMA arranged; SET session_replication_role = replica")

    async def _ask(self, verb: str, number: int, url: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{verb} {number} {url}\n".encode())
        await self._child.stdin.drain()

    async def _hear(self) -> Any:
        assert self._child.stdout is not None
        return json.loads(await self._child.stdout.readline())


def _untrue(said: Any, left: Any, before: Any, after: Any) -> str | None:
    """What the operation told its caller, where the database says otherwise."""
    if said == {"said": "done"}:
        return None if left == after else "it said that it was done, and it was not"
    if said.get("said") != "unavailable":
        return f"it ended with {said['said']}"
    if not said["was_sent"] and left != before:
        return "it said that nothing was sent, and something happened"
    return None


def _alike(left: Any, after: Any, operation: Operation) -> bool:
    if not operation.alike:
        return bool(left == after)
    return _columns(left, operation.alike) == _columns(after, operation.alike)


def _columns(snapshot: Any, names: tuple[str, ...]) -> list[Any]:
    return sorted([row[name] for name in names] for row in snapshot["jobs"] or [])


def _difference(left: Any, right: Any) -> str:
    tables = [name for name in left if left[name] != right[name]]
    return ", ".join(f"{name}: {left[name]} instead of {right[name]}" for name in tables)[:1500]
