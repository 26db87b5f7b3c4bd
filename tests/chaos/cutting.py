"""Cuts every operation of a store at every statement, and looks what is left."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import asyncpg

from chaos.matrix import OPERATIONS
from chaos.operations import Operation
from chaos.proxy import Fault, Moment, Proxy

TESTS = Path(__file__).resolve().parents[1]
ENDS = ("connection lost", "process killed")
NOT_OURS = ("backstay.migrations", "backstay.application_migrations", "backstay.facts")

A_TIME = re.compile(r'"\d{4}-\d\d-\d\dT[^"]*"')

# What the tables are, beside what is in them: columns, indexes, and what triggers do.
STRUCTURE = """
SELECT jsonb_agg(line ORDER BY line)
FROM (
    SELECT format('%s.%s %s', table_name, column_name, data_type) AS line
    FROM information_schema.columns
    WHERE table_schema = 'backstay'
    UNION ALL
    SELECT indexdef FROM pg_indexes WHERE schemaname = 'backstay'
    UNION ALL
    SELECT format('%s %s', tgname, prosrc)
    FROM pg_trigger
    JOIN pg_proc ON pg_proc.oid = tgfoid
    WHERE tgrelid = 'backstay.jobs'::regclass AND NOT tgisinternal
) AS lines
"""


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
        self._plain: frozenset[str] = frozenset()
        self._makes_tables, self._has_own_times = False, False
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
        await self._restore(number, before)
        said = await self._carry_out_until(number, case)
        left = await self._snapshot()
        if operation.is_atomic and not operation.has_sequel and left not in (before, after):
            wrong.append(f"it left neither the state before nor the state after: {_difference(left, after)}")
        is_done = operation.is_best_effort or (left != before if operation.has_sequel else left == after)
        if said is not None and (told := _untrue(said, is_done=is_done, is_untouched=left == before)):
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
        await self._let_go()
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
        await self._let_go()
        said = await self._hear()
        if "said" in said:
            await self._hear()
        return said

    async def _arrange(self, number: int) -> None:
        operation = OPERATIONS[number]
        self._makes_tables, self._has_own_times = operation.makes_tables, operation.has_own_times
        await self._make_plain()
        await self._ask("arrange", number, self._url)
        await self._hear()
        await self._all_gone()
        self._tables = await self._find_tables()
        if not operation.makes_tables:
            copies = (f"CREATE TABLE {copy_of(table)} AS TABLE {table};" for table in self._tables)
            await self._direct.execute("".join(copies))

    async def _make_plain(self) -> None:
        """Leave nothing of the operation before: no rows, and no tables or triggers beyond those of a migration."""
        await self._direct.execute("DROP SCHEMA IF EXISTS arranged CASCADE; CREATE SCHEMA arranged")
        for table in set(await self._find_tables()) - self._plain:
            await self._direct.execute(f"DROP TABLE {table} CASCADE")
        await self._direct.execute("TRUNCATE " + ", ".join(self._plain))
        for name in await self._direct.fetch(
            "SELECT proname FROM pg_proc WHERE pronamespace = 'backstay'::regnamespace AND oid IN"
            " (SELECT tgfoid FROM pg_trigger WHERE tgrelid = 'backstay.jobs'::regclass AND NOT tgisinternal)"
        ):
            await self._direct.execute(f"DROP FUNCTION backstay.{name[0]}() CASCADE")

    async def _restore(self, number: int, before: Any) -> None:
        """Put back those tables that are not as they were when they were last looked at."""
        if OPERATIONS[number].makes_tables:
            await self._arrange(number)
            return
        for table in self._tables:
            if self._seen[table] != before[table]:
                await self._direct.execute(
                    f"DELETE FROM {table}; INSERT INTO {table} SELECT * FROM {copy_of(table)}"
                )

    async def _snapshot(self) -> Any:
        """Everything in the tables; numbers that a sequence gave do not count."""
        await self._all_gone()
        each = ", ".join(
            f"('{table}', (SELECT jsonb_agg(to_jsonb(t) - '{'id' if table == 'backstay.audit' else ''}' ORDER BY"
            f" (to_jsonb(t) - 'id')::text, t::text) FROM {table} AS t))"
            for table in self._tables
        )
        structure = f", ('structure', to_jsonb(({STRUCTURE})))" if self._makes_tables else ""
        # Rows and no arguments: a function takes a hundred at most.
        told = await self._direct.fetchval(
            f"SELECT jsonb_object_agg(name, content) FROM (VALUES {each}{structure}) AS part (name, content)"
        )
        self._seen = json.loads(A_TIME.sub('"some time"', told) if self._has_own_times else told)
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
        # Rows are put back table by table, so rules between tables must wait.
        await self._direct.execute("SET session_replication_role = replica")
        self._plain = frozenset(await self._find_tables())

    async def _find_tables(self) -> list[str]:
        found = await self._direct.fetch(
            "SELECT table_schema || '.' || table_name FROM information_schema.tables"
            " WHERE table_schema IN ('backstay', 'public') AND table_type = 'BASE TABLE' ORDER BY 1"
        )
        return [row[0] for row in found if row[0] not in NOT_OURS]

    async def _ask(self, verb: str, number: int, url: str) -> None:
        await self._write(f"{verb} {number} {url}")

    async def _let_go(self) -> None:
        """Let the fork begin, now that its id is known."""
        await self._write("begin")

    async def _write(self, line: str) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(f"{line}\n".encode())
        await self._child.stdin.drain()

    async def _hear(self) -> Any:
        assert self._child.stdout is not None
        return json.loads(await self._child.stdout.readline())


def copy_of(table: str) -> str:
    """Where a table is kept as it was arranged."""
    return f'arranged."{table}"'


def _untrue(said: Any, *, is_done: bool, is_untouched: bool) -> str | None:
    """What the operation told its caller, where the database says otherwise."""
    if said == {"said": "done"}:
        return None if is_done else "it said that it was done, and it was not"
    if said.get("said") != "unavailable":
        return f"it ended with {said['said']}"
    if not said["was_sent"] and not is_untouched:
        return "it said that nothing was sent, and something happened"
    return None


def _alike(left: Any, after: Any, operation: Operation) -> bool:
    if not operation.alike:
        return bool(left == after)
    return _columns(left, operation.alike) == _columns(after, operation.alike)


def _columns(snapshot: Any, names: tuple[str, ...]) -> list[Any]:
    return sorted([row[name] for name in names] for row in snapshot["backstay.jobs"] or [])


def _difference(left: Any, right: Any) -> str:
    tables = [name for name in left if left[name] != right[name]]
    return ", ".join(f"{name}: {left[name]} instead of {right[name]}" for name in tables)[:1500]
