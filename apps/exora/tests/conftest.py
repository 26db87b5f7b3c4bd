"""One database, one model server, one mail server and one worker process for all tests; a practice for each."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest
from canaries import leaks, shown_to_operators

from backstay.errors import WrongState
from backstay.testing import PrivatePostgres
from backstay_exora.demo.letters import Letter, draw_letter
from backstay_exora.demo.people import Person, draw_practice, with_luhn
from backstay_parts.faults import FaultProxy
from backstay_parts.mail import MailServer
from backstay_parts.servers import ModelServer, ServerProcess, free_port

KNOWN_PROVIDER = with_luhn("800361000000001")
# Asked at every commit of every test: no fact of a document that a person has yet to decide about, or has rejected.
NO_FACT_BEFORE_A_DECISION = """
CREATE FUNCTION exora.test_gate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (
        SELECT FROM exora.profile_classification_audit AS a WHERE a.shell_file_id = NEW.shell_file_id
        AND (NOT a.manual_review_required OR a.decision IN ('approve', 'move'))
    ) THEN
        RAISE EXCEPTION 'a clinical row before a decision';
    END IF;
    RETURN NULL;
END $$;
""" + "".join(
    f"CREATE CONSTRAINT TRIGGER test_gate AFTER INSERT OR UPDATE ON exora.{table} DEFERRABLE INITIALLY DEFERRED"
    " FOR EACH ROW EXECUTE FUNCTION exora.test_gate();"
    for table in ("patient_medications", "patient_conditions", "patient_allergies")
)
ENDS = frozenset({"done", "needs_review", "failed", "rejected", "retracted"})


@dataclass
class Stage:
    """The servers of a test run, and the environment that leads to them."""

    url: str
    model: ModelServer
    mail: MailServer
    registry: FaultProxy
    environment: dict[str, str]
    log: Path
    logs: dict[str, str] = field(default_factory=dict)
    """What other servers of the run have written, left here when they end."""
    documents: int = 0
    """How many documents the tests have sent."""

    def settings(self) -> Any:
        from backstay_exora.app import settings

        return settings


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("exora")
    with (
        PrivatePostgres.start(fsync=False) as server,
        ModelServer("exora_reader") as model,
        MailServer() as mail,
        _registry(folder / "registry") as behind,
        FaultProxy.before(behind.url) as registry,
    ):
        server.create_database("exora")
        values = {
            "BACKSTAY_URL": server.url("exora"),
            "EXORA_STORAGE": str(folder / "files"),
            "EXORA_MODEL_URL": model.base_url,
            "EXORA_MODEL_KEY": model.api_key,
            "EXORA_MODEL_TIMEOUT": "3",
            "EXORA_MOST_BUDGET": "4000",
            "EXORA_RETRY_DELAY": "300ms",
            "EXORA_MAIL_HOST": mail.host,
            "EXORA_MAIL_PORT": str(mail.port),
            "EXORA_REGISTRY_URL": registry.url,
            "EXORA_SECRET": secrets.token_hex(32),
        }
        _import_with(values)
        asyncio.run(_migrate())
        environment = {**os.environ, **values}
        log = folder / "worker.log"
        worker = _start_worker(environment, log)
        asyncio.run(_declared(values["BACKSTAY_URL"]))
        made = Stage(values["BACKSTAY_URL"], model, mail, registry, environment, log)
        yield made
        _stop_worker(worker)
        # Over everything that the tests of this run did.
        shown = asyncio.run(shown_to_operators())
        assert "shell_file_processing" in shown["/metrics"] or not made.documents, "metrics of this run"
        logs = {"the worker's log": log.read_text(errors="replace"), **made.logs, **shown}
        assert asyncio.run(leaks(made.url, logs)) == []


def _registry(folder: Path) -> ServerProcess:
    folder.mkdir()
    folder.joinpath("providers.json").write_text(json.dumps({KNOWN_PROVIDER: "Dr Susan Lee"}))
    port = free_port()
    module = "backstay_exora.demo.registry"
    return ServerProcess(
        [sys.executable, "-m", module, "--port", str(port), "--folder", str(folder)],
        port=port,
        name="registry",
    )


async def _migrate() -> None:
    from backstay_exora.jobs import app

    await app.migrate()
    await app.close()
    connection = await asyncpg.connect(app.url)
    await connection.execute(NO_FACT_BEFORE_A_DECISION)
    await connection.close()


async def _declared(url: str) -> None:
    """Wait until the worker has made its kinds known."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(60):
            while await connection.fetchval("SELECT count(*) FROM backstay.kinds") < 11:
                await asyncio.sleep(0.1)
    finally:
        await connection.close()


def _import_with(values: Mapping[str, str]) -> None:
    """The application reads its settings on import; the tests of others shall not see them."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        import backstay_exora.jobs  # noqa: F401 - registers the handlers


def _start_worker(environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "backstay", "worker", "backstay_exora.jobs:app", "--concurrency", "2"]
    guard = [sys.executable, "-m", "backstay_parts.servers.guard", *command]
    with log.open("wb") as output:
        return subprocess.Popen(
            guard,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            env={
                **environment,
                "RENDER_SERVICE_ID": "srv-test",
                "BACKSTAY_WORKER_ID": "render-${RENDER_SERVICE_ID}",
            },
        )


def _stop_worker(worker: "subprocess.Popen[bytes]") -> None:
    assert worker.stdin is not None
    worker.stdin.close()
    worker.wait(60)


@dataclass
class Practice:
    """A practice of its own for one test."""

    stage: Stage
    name: str
    people: list[Person]
    patients: list[UUID] = field(default_factory=list)

    async def send(
        self, who: int, letter: Letter, *, content: bytes | None = None, filename: str | None = None
    ) -> UUID:
        """Upload a letter for a patient."""
        from backstay_exora.documents import upload

        self.stage.documents += 1
        done = await upload(
            self.name,
            self.patients[who],
            filename or letter.filename,
            content or letter.content,
            by="reception",
        )
        return done.id

    async def send_clean(self, who: int = 0, seed: int = 1, **options: Any) -> tuple[UUID, Letter]:
        """Upload a letter with nothing wrong."""
        letter = draw_letter(self.people[who], seed, **options)
        return await self.send(who, letter), letter

    async def status(self, document: UUID, *, ends: frozenset[str] = ENDS, seconds: float = 100) -> str:
        """The document's status as soon as it is one of the ends."""
        deadline = asyncio.get_running_loop().time() + seconds
        while True:
            status = str(await self.value("SELECT status FROM exora.shell_files WHERE id = $1", document))
            if status in ends:
                return status
            assert asyncio.get_running_loop().time() < deadline, f"{status}: {await self._jobs(document)}"
            await asyncio.sleep(0.1)

    async def wait_for(self, sql: str, *values: object, seconds: float = 60) -> Any:
        """The value of a query as soon as it is there."""
        deadline = asyncio.get_running_loop().time() + seconds
        while (value := await self.value(sql, *values)) is None:
            assert asyncio.get_running_loop().time() < deadline, f"never: {sql}"
            await asyncio.sleep(0.1)
        return value

    async def value(self, sql: str, *values: object) -> Any:
        """One value."""
        rows = await self.rows(sql, *values)
        return rows[0][0] if rows else None

    async def rows(self, sql: str, *values: object) -> list[Any]:
        """Rows of a query."""
        from backstay_exora.store.connections import connect

        async with connect(self.stage.url) as connection:
            return list(await connection.fetch(sql, *values))

    async def facts(self, document: UUID) -> list[dict[str, Any]]:
        """The facts of a document."""
        from backstay_exora.store.connections import connect
        from backstay_exora.store.facts import facts_of

        async with connect(self.stage.url) as connection:
            return await facts_of(connection, document_id=document)

    async def review_of(self, document: UUID) -> UUID:
        """The open review about a document."""
        found = await self.value(
            "SELECT id FROM exora.manual_review_queue WHERE shell_file_id = $1 AND status = 'open'", document
        )
        assert isinstance(found, UUID)
        return found

    async def leave(self) -> None:
        """Stop what the test did not wait for, so that it does not take the faults that the next one asks for."""
        from backstay_exora.app import app

        live = "status IN ('pending', 'processing', 'retrying', 'deferred')"
        of_ours = "shell_file_id IN (SELECT id FROM exora.shell_files WHERE practice_id = $1)"
        for row in await self.rows(f"SELECT id FROM exora.job_queue WHERE {live} AND {of_ours}", self.name):
            with suppress(WrongState):  # it has ended meanwhile
                await app.jobs.cancel(row["id"], reason="the test is over")
        await self.wait_for(
            "SELECT 1 WHERE NOT EXISTS"
            f" (SELECT FROM exora.job_queue WHERE status = 'processing' AND {of_ours})",
            self.name,
        )

    async def _jobs(self, document: UUID) -> list[str]:
        rows = await self.rows(
            "SELECT job_name, status, last_error FROM exora.job_queue WHERE shell_file_id = $1", document
        )
        return [str(dict(row)) for row in rows]


@pytest.fixture
async def practice(stage: Stage) -> Any:
    """A new practice with five patients, the first two of one family."""
    from backstay_exora.app import app
    from backstay_exora.store.connections import connect
    from backstay_exora.store.patients import add_patient, add_practice

    stage.model.forget_faults()
    stage.mail.clear()
    stage.mail.accept_all()
    made = Practice(stage, f"p-{secrets.token_hex(6)}", draw_practice(77))
    async with connect(stage.url) as connection:
        await add_practice(connection, made.name, "A practice")
        for person in made.people:
            made.patients.append(
                await add_patient(
                    connection,
                    made.name,
                    given_names=person.given_names,
                    family_name=person.family_name,
                    date_of_birth=person.date_of_birth,
                    gender=person.gender,
                    address=person.address,
                    record_number=person.record_number,
                    ihi=person.ihi,
                    email="patient@example.org",
                )
            )
    yield made
    await made.leave()
    await app.close()
