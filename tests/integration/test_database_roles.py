"""A handler's transaction under another role of PostgreSQL: row security holds for it, and the job still ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine

from backstay import Backstay, Context, Hopeless, State
from backstay.errors import InvalidSettings
from backstay.testing import Harness, PrivatePostgres, harness
from backstay.testing.database import IN_MEMORY

app = Backstay("sqlite:////nowhere/roles.db")
url_here = ""
ROLE = 'clerk of "the" office'
ADD = "INSERT INTO notes (company, text) VALUES ('{}', 'new')"


@pytest.fixture(scope="module")
def database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("roles")
    yield postgres_server.url("roles")
    postgres_server.drop_database("roles")


@pytest.fixture
def backstay(database: str) -> Iterator[Harness]:
    global url_here
    url_here = database
    quoted = '"' + ROLE.replace('"', '""') + '"'
    with harness(app, database) as opened:
        with psycopg.connect(database) as connection:
            connection.execute(
                f"""
                DROP TABLE IF EXISTS notes;
                CREATE TABLE notes (company text, text text);
                INSERT INTO notes VALUES ('acme', 'ours'), ('other', 'theirs');
                ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
                CREATE POLICY own ON notes
                USING (company = current_setting('request.jwt.claims', true)::json ->> 'company');
                DO $$ BEGIN CREATE ROLE {quoted}; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
                GRANT ALL ON notes TO {quoted};
                """.encode()
            )
        yield opened


@pytest.fixture
def on_sqlite() -> Iterator[Harness]:
    with harness(app, IN_MEMORY) as opened:
        yield opened


@app.job
async def child() -> None: ...


@app.job(max_attempts=1)
async def own(ctx: Context, company: str, how: str = "complete") -> Any:
    async with ctx.transaction(role=ROLE, claims={"company": company, "of": "it's 100 % :x"}) as tx:
        rows = await tx.execute("SELECT text FROM notes")
        await tx.execute(ADD.format(company))
        await child.enqueue()
        after = await tx.execute("SELECT current_user::text AS me")
        if how == "raise":
            raise ValueError("undo it")
        if how == "fail":
            tx.fail(Hopeless("no"))
        else:
            tx.result([rows[0]["text"], len(rows), after[0]["me"]])


@app.job(max_attempts=1)
def blocking(ctx: Context, company: str) -> Any:
    with ctx.transaction(role=ROLE, claims={"company": company}) as tx:
        rows = tx.execute("SELECT text FROM notes")
        tx.execute(ADD.format(company))
        child.enqueue_sync()
        me = tx.execute("SELECT current_user::text")
        tx.result([rows[0][0], len(rows), me[0][0]])


@app.job(max_attempts=1)
async def with_sqlalchemy(ctx: Context, company: str) -> Any:
    engine = create_async_engine(url_here.replace("postgresql://", "postgresql+asyncpg://"))
    session = AsyncSession(engine)
    async with session, ctx.transaction(session, role=ROLE, claims={"company": company}) as tx:
        rows = (await session.execute(text("SELECT text FROM notes"))).all()
        await session.execute(text(ADD.format(company)))
        await child.enqueue()
        me = (await session.execute(text("SELECT current_user::text"))).scalar_one()
        tx.result([rows[0][0], len(rows), me])
    await engine.dispose()


async def notes(url: str) -> list[tuple[Any, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        found = await connection.execute("SELECT company, text FROM notes ORDER BY company, text")
        return await found.fetchall()


BEFORE = [("acme", "ours"), ("other", "theirs")]
AFTER = [("acme", "new"), *BEFORE]


@pytest.mark.parametrize("handler", [own, blocking, with_sqlalchemy], ids=lambda handler: handler.kind)
async def test_row_security_holds_inside_and_the_job_is_completed(backstay: Harness, handler: Any) -> None:
    ran = await backstay.try_job(handler, company="acme")

    assert (ran.job.state, ran.job.result) == (State.COMPLETED, ["ours", 1, ROLE])
    assert await notes(url_here) == AFTER
    assert (await backstay.drain()).completed == 1


async def test_the_job_can_be_failed_in_the_same_commit(backstay: Harness) -> None:
    ran = await backstay.try_job(own, company="acme", how="fail")

    assert (ran.job.state, await notes(url_here)) == (State.DEAD, AFTER)


async def test_an_error_inside_undoes_everything(backstay: Harness) -> None:
    ran = await backstay.try_job(own, company="acme", how="raise")

    assert (ran.job.state, await notes(url_here)) == (State.DEAD, BEFORE)
    assert (await backstay.drain()).completed == 0


@app.job(max_attempts=1)
async def as_nobody(ctx: Context) -> None:
    async with ctx.transaction(role="nobody there"):
        pass


async def test_a_role_that_does_not_exist_is_named(backstay: Harness) -> None:
    ran = await backstay.try_job(as_nobody)

    assert ran.job.error is not None
    assert "nobody there" in ran.job.error["message"]


async def test_sqlite_has_no_roles(on_sqlite: Harness) -> None:
    ran = await on_sqlite.try_job(own, company="acme")

    assert ran.job.error is not None
    assert "SQLite has no roles" in ran.job.error["message"]


@pytest.mark.parametrize("given", [{"role": ""}, {"role": "x" * 64}, {"claims": {"at": object()}}])
def test_what_cannot_be_a_role_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidSettings):
        Context(job_id=Any, kind="k", queue="q").transaction(**given)
