"""Both jobs of the audit once more, at their own times; and a document that waits for a quarter of a year."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from backstay.testing import FrozenClock, Harness, harness
from backstay_exora.demo.letters import Letter, draw_letter
from backstay_exora.demo.people import draw_practice
from backstay_exora.store.connections import Connection, connect, read_json
from backstay_parts.faults import Answer, FaultProxy
from conftest import Stage

FAILED = UUID("042c94ab-a707-43d3-b035-35807ab3075d")
COMPLETED = UUID("b283b966-194c-4de5-a33e-89950f162516")
NAME = "Pass 1: BP2025060246784 - first 2 page version V4.jpeg"
# What the provider answered on that day: nothing, because its reasoning had used the whole budget.
EMPTY_ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1759706140,
    "model": "gpt-5",
    "choices": [
        {
            "index": 0,
            "finish_reason": "length",
            "message": {"role": "assistant", "content": "", "refusal": None},
        }
    ],
    "usage": {"prompt_tokens": 9000, "completion_tokens": 2000, "total_tokens": 11000},
}


@dataclass
class Replay:
    """The application on a database of its own, where time stands still."""

    harness: Harness
    provider: FaultProxy
    connection: Connection
    document: UUID
    patient: UUID
    letter: Letter

    async def row(self, job: object) -> Any:
        return await self.connection.fetchrow("SELECT * FROM exora.job_queue WHERE id = $1", job)

    async def store(self, job: UUID, *, scheduled: datetime, created: datetime) -> None:
        """Store the job of the audit with its id, its name and its two stamps."""
        payload = {
            "shell_file_id": str(self.document),
            "patient_id": str(self.patient),
            "processing_session_id": str(self.document),
            "job_lane": "ai_queue_simple",
        }
        told = {
            "id": str(job),
            "kind": "ai_processing",
            "queue": "ai_queue_simple",
            "args": payload,
            "name": NAME,
            "run_at": scheduled.isoformat(),
        }
        await self.connection.execute("SELECT backstay.enqueue_as_of($1, $2)", told, created)

    def answer_at(self, moment: datetime, answer: dict[str, Any] | None) -> None:
        """Let the provider's first answer come at this moment; without an answer, the reader gives its own."""

        def rule(method: str, path: str) -> Answer | None:
            if self.harness.now < moment:
                self.harness.clock.set(moment)
            if answer is None:
                return None
            return Answer(200, json.dumps(answer).encode(), (("Content-Type", "application/json"),))

        self.provider.rule = rule


def _at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.fixture
def world(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Harness, FaultProxy, str]]:
    from backstay_exora.jobs import app

    stage.model.forget_faults()
    name = f"replay_{token_hex(4)}"
    asyncio.run(_create(stage.url, name))
    url = stage.url.replace("/exora", f"/{name}")
    with FaultProxy.before(stage.model.url) as provider:
        own = replace(stage.settings(), database_url=url, model_url=f"{provider.url}/v1")
        for module in [module for key, module in sys.modules.items() if key.startswith("backstay_exora.")]:
            if hasattr(module, "settings") and not module.__name__.endswith(".settings"):
                monkeypatch.setattr(module, "settings", own)
        with harness(app, url, clock=FrozenClock(_at("2025-10-05T23:13:26.873"))) as running:
            yield running, provider, url


async def _create(url: str, name: str) -> None:
    admin = await asyncpg.connect(url)
    await admin.execute(f"CREATE DATABASE {name}")
    await admin.close()


@pytest.fixture
async def replay(world: tuple[Harness, FaultProxy, str]) -> AsyncIterator[Replay]:
    """A patient whose letter was read, before its Pass 1."""
    from backstay_exora.documents import upload
    from backstay_exora.store.patients import add_patient, add_practice

    running, provider, url = world
    person = draw_practice(5)[0]
    letter = draw_letter(person, 811, plant="other address")
    async with connect(url) as connection:
        await read_json(connection)
        await add_practice(connection, "p", "P")
        patient = await add_patient(
            connection,
            "p",
            given_names=person.given_names,
            family_name=person.family_name,
            date_of_birth=person.date_of_birth,
            gender=person.gender,
            address=person.address,
            record_number=person.record_number,
            ihi=person.ihi,
        )
        document = (await upload("p", patient, "a.pdf", letter.content, by="reception")).id
        yield Replay(running, provider, connection, document, patient, letter)


async def _only_pass_one_left(replay: Replay) -> None:
    """Read the document, and take away the Pass 1 that followed: the audit's own job takes its place."""
    from backstay_exora.jobs import app

    first = await replay.connection.fetchval(
        "SELECT id FROM exora.job_queue WHERE job_type = 'shell_file_processing'"
    )
    replay.provider.rule = lambda method, path: Answer(503)
    await replay.harness.drain()
    followers = await replay.connection.fetch("SELECT id FROM exora.job_queue WHERE id <> $1", first)
    for row in followers:
        await app.jobs.cancel(row["id"], reason="the audit's own job takes its place")


async def test_the_failed_job_of_the_audit_is_tried_again_and_its_columns_agree(replay: Replay) -> None:
    """EXO-014, EXO-019, EXO-020, EXO-021, EXO-022, EXO-023, EXO-038"""
    scheduled, created = _at("2025-10-05T23:13:26.873"), _at("2025-10-05T23:13:27.123784")
    started, ended = _at("2025-10-05T23:13:30.998418"), _at("2025-10-05T23:15:40.417")
    await _only_pass_one_left(replay)
    await replay.store(FAILED, scheduled=scheduled, created=created)
    replay.answer_at(ended, EMPTY_ANSWER)

    await replay.harness.travel(to=started)
    await replay.harness.drain()

    first = await replay.row(FAILED)
    assert (first["job_name"], first["job_lane"], first["priority"]) == (NAME, "ai_queue_simple", 5)
    # One clock for both: the audit's own job was scheduled a quarter of a second before it was created.
    assert (first["scheduled_at"], first["created_at"]) == (created, created)
    assert (first["started_at"], first["completed_at"]) == (started, ended)
    assert first["actual_duration"] == timedelta(minutes=2, seconds=9, microseconds=418582)
    assert (first["patient_id"], first["shell_file_id"]) == (replay.patient, replay.document)
    assert first["heartbeat_at"] is None
    assert first["updated_at"] >= first["completed_at"]
    assert first["worker_id"]
    assert "${" not in first["worker_id"]
    assert first["job_result"] == {"pass": 1, "moved_to": "ai_queue_complex"}
    # Every budget of the simple lane was too small, so the pass goes on in the complex one, and is tried again there.
    follower = (await replay.row(first["blocks_jobs"][0]))["id"]
    waiting = await replay.row(follower)
    assert (waiting["status"], waiting["retry_count"], waiting["dead_letter_at"]) == ("retrying", 1, None)
    assert waiting["scheduled_at"] > ended
    _assert_samples_error(waiting["error_details"], waiting["worker_id"])

    await replay.harness.drain(with_scheduled=True)

    row = await replay.row(follower)
    assert (row["status"], row["retry_count"], row["max_retries"]) == ("failed", 3, 3)
    assert row["dead_letter_at"] == row["completed_at"]
    assert row["actual_duration"] == row["completed_at"] - row["started_at"]
    assert (row["heartbeat_at"], row["job_result"]) == (None, None)
    assert row["updated_at"] >= row["completed_at"]
    _assert_samples_error(row["error_details"], row["worker_id"])
    assert await _broken_findings(replay) == []


def _assert_samples_error(told: dict[str, Any], worker: str) -> None:
    assert told["error_message"] == (
        "Pass 1 processing failed: OpenAI returned empty response. Details: "
        '{"finish_reason":"length","choices_length":1,"has_refusal":false,"refusal_text":null,"model":"gpt-5"}'
    )
    assert (told["code"], told["worker_id"]) == ("AI_TRUNCATED", worker)
    assert datetime.fromisoformat(told["failed_at"]).tzinfo is not None
    values = [
        told[name] for name in ("finish_reason", "choices_length", "has_refusal", "refusal_text", "model")
    ]
    assert values == ["length", 1, False, None, "gpt-5"]


async def test_the_completed_job_of_the_audit_has_no_heartbeat_and_a_duration(replay: Replay) -> None:
    """EXO-019, EXO-020, EXO-021, EXO-038"""
    started, ended = _at("2025-10-08T05:36:35"), _at("2025-10-08T05:36:50")
    await _only_pass_one_left(replay)
    await replay.store(COMPLETED, scheduled=started, created=started - timedelta(seconds=4))
    replay.answer_at(ended, None)

    await replay.harness.travel(to=started)
    await replay.harness.drain()

    row = await replay.row(COMPLETED)
    assert (row["status"], row["started_at"], row["completed_at"]) == ("completed", started, ended)
    assert (row["actual_duration"], row["heartbeat_at"]) == (timedelta(seconds=15), None)
    assert (row["patient_id"], row["shell_file_id"]) == (replay.patient, replay.document)
    assert row["updated_at"] >= row["completed_at"]
    assert await _broken_findings(replay) == []


async def test_a_held_document_waits_for_ninety_days_and_three_deploys(replay: Replay) -> None:
    """EXO-029"""
    from backstay_exora.jobs import app
    from backstay_exora.review import decide, open_reviews

    held = "SELECT status FROM exora.job_queue WHERE job_name LIKE 'Pass 2%'"
    await replay.harness.travel(to=datetime.now(UTC))
    await replay.harness.drain()
    assert await replay.connection.fetchval(held) == "deferred"

    for _ in range(3):
        await replay.harness.travel("30d")
        # A deploy: the program is connected anew, and so is its worker.
        await app.close()
        replay.harness = Harness(app, replay.harness.clock)
        await replay.harness.drain()
        assert await replay.connection.fetchval(held) == "deferred"

    (review,) = await open_reviews("p")
    await decide("p", review["id"], "approve", by="rita", reason="moved house")
    await replay.harness.drain()

    status = await replay.connection.fetchval(
        "SELECT status FROM exora.shell_files WHERE id = $1", replay.document
    )
    assert status == "done"
    names = await replay.connection.fetch("SELECT name, dose FROM exora.patient_medications")
    stored = sorted((row["name"].lower(), row["dose"]) for row in names)
    assert stored == sorted((name.lower(), dose) for name, dose in replay.letter.truth.medications)


async def _broken_findings(replay: Replay) -> list[str]:
    from backstay_exora.doctor import examine

    url = sys.modules["backstay_exora.doctor"].settings.database_url
    return [found.rule for found in await examine(url) if not found.is_held]
