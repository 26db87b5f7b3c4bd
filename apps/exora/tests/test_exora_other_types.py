"""The nine lesser job types: each once well and once badly, with real servers."""

import hashlib
import secrets
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote, urlsplit
from uuid import uuid4

import asyncpg

from backstay_exora.demo.people import with_luhn
from backstay_exora.domain.similarity import likeness, vector_of
from backstay_parts.faults import Answer
from backstay_parts.pdf import open_pdf
from backstay_parts.sheets import read_sheets
from conftest import KNOWN_PROVIDER, Practice, Stage


async def _end(practice: Practice, job: Any) -> Any:
    """The row of a job as soon as it has ended."""
    await practice.wait_for(
        "SELECT 1 FROM exora.job_queue WHERE id = $1 AND status IN ('completed', 'failed')", job.id
    )
    row = (await practice.rows("SELECT * FROM exora.job_queue WHERE id = $1", job.id))[0]
    assert row["job_lane"] is None
    if row["status"] == "completed":
        assert await job.result() == row["job_result"], "whoever waits for it gets it"
    return row


def _code(row: Any) -> tuple[str, str]:
    return row["status"], row["error_details"]["code"]


async def test_a_notification_is_a_mail(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import notification_delivery

    practice.stage.mail.refuse("gone@example.org", 550)
    good = await notification_delivery.enqueue(
        notification_id=uuid4(), recipient="a@example.org", subject="A document waits", text="Please look."
    )
    bad = await notification_delivery.enqueue(
        notification_id=uuid4(), recipient="gone@example.org", subject="x", text="x"
    )

    row = await _end(practice, good)
    assert row["status"] == "completed"
    (mail,) = practice.stage.mail.wait_for(1, to="a@example.org")
    assert mail.message["Message-ID"] == row["job_result"]["message_id"]
    assert _code(await _end(practice, bad)) == ("failed", "MAIL_REFUSED")


async def test_a_mail_server_that_is_busy_gets_the_mail_later_once(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import notification_delivery

    practice.stage.mail.refuse("busy@example.org", 451, times=1)

    job = await notification_delivery.enqueue(
        notification_id=uuid4(), recipient="busy@example.org", subject="x", text="x"
    )

    row = await _end(practice, job)
    assert (row["status"], row["retry_count"]) == ("completed", 1)
    assert len(practice.stage.mail.mails(to="busy@example.org")) == 1


async def test_a_report_is_a_file_behind_an_address(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.files import storage_of
    from backstay_exora.jobs import report_generation

    document, letter = await practice.send_clean(seed=301)
    await practice.status(document)
    patient = practice.patients[0]
    forms = {
        form: await _end(
            practice,
            await report_generation.enqueue(practice_id=practice.name, patient_id=patient, form=form),
        )
        for form in ("pdf", "xlsx")
    }
    refused = await report_generation.enqueue(practice_id=practice.name, patient_id=patient, form="docx")

    storage = storage_of(practice.stage.settings())
    pdf, sheet = [await storage.get(forms[form]["job_result"]["key"]) for form in ("pdf", "xlsx")]
    with open_pdf(pdf) as opened:
        assert letter.truth.medications[0][0].split()[0] in opened.text()
    assert len(read_sheets(sheet)[0].rows) == forms["xlsx"]["job_result"]["facts"] + 1
    assert "signature=" in forms["pdf"]["job_result"]["url"]
    assert _code(await _end(practice, refused)) == ("failed", "BAD_REQUEST")


async def test_a_backup_is_kept_with_its_hash(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.files import storage_of
    from backstay_exora.jobs import backup_operation

    row = await _end(practice, await backup_operation.enqueue())
    bad = await backup_operation.options(max_attempts=1).enqueue(schema="no_such_schema")

    dump = await storage_of(practice.stage.settings()).get(row["job_result"]["key"])
    assert dump.startswith(b"PGDMP")
    assert hashlib.sha256(dump).hexdigest() == row["job_result"]["sha256"]
    assert _code(await _end(practice, bad)) == ("failed", "BACKUP_FAILED")


async def test_a_backup_needs_no_superuser_and_shows_no_password(stage: Stage) -> None:
    """EXO-035: the owner of the tables is held to row security, and its dump has every row all the same."""
    from backstay_exora.handlers.backup_operation import _call, dump_schema

    owner, password = f"owner_{secrets.token_hex(4)}", "s3cr3t/of:owner"
    admin = await asyncpg.connect(stage.url)
    await admin.execute(f"CREATE ROLE {owner} LOGIN CREATEROLE PASSWORD '{password}'")
    await admin.execute(f"CREATE DATABASE {owner} OWNER {owner}")
    await admin.close()
    parts = urlsplit(stage.url)
    host = parts.netloc.rpartition("@")[2]
    url = f"postgresql://{owner}:{quote(password, safe='')}@{host}/{owner}"
    environment = {**stage.environment, "BACKSTAY_URL": url}
    migrate = [sys.executable, "-m", "backstay_exora", "migrate"]
    subprocess.run(migrate, env=environment, check=True, capture_output=True)
    connection = await asyncpg.connect(url)
    await connection.execute("INSERT INTO exora.practices (id, name) VALUES ('p', 'Harbour Street')")
    await connection.close()

    dump = await dump_schema(url, "exora")

    listed = subprocess.run(
        ["pg_restore", "--data-only", "--table=practices", "--file=-"],
        input=dump,
        capture_output=True,
        check=True,
    )
    assert b"Harbour Street" in listed.stdout
    arguments, hidden = _call(url, "exora")
    assert password not in " ".join(arguments)
    assert quote(password, safe="") not in " ".join(arguments)
    assert hidden == {"PGPASSWORD": password}


async def test_old_audit_lines_go_and_young_ones_stay(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import audit_cleanup

    await practice.rows(
        "INSERT INTO exora.audit_log (at, practice_id, actor, action, subject)"
        " VALUES (now() - interval '8 years', $1, 'a', 'old', 's'), (now(), $1, 'a', 'young', 's')",
        practice.name,
    )

    row = await _end(practice, await audit_cleanup.enqueue())
    bad = await _end(practice, await audit_cleanup.enqueue(keep_days=30))

    assert row["job_result"]["removed"] >= 1
    left = await practice.rows("SELECT action FROM exora.audit_log WHERE practice_id = $1", practice.name)
    assert [line["action"] for line in left] == ["young"]
    assert _code(bad) == ("failed", "BAD_REQUEST")


async def test_maintenance_does_one_task_by_name(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import system_maintenance

    row = await _end(practice, await system_maintenance.enqueue(task="analyse"))
    bad = await _end(practice, await system_maintenance.enqueue(task="explode"))

    assert row["job_result"]["analysed"] > 10
    assert _code(bad) == ("failed", "BAD_REQUEST")


async def test_promoted_columns_are_filled_in_batches(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import data_migration

    row = await _end(practice, await data_migration.enqueue(batch_size=100))
    bad = await _end(practice, await data_migration.enqueue(batch_size=0))

    assert row["job_result"]["problems"] == 0
    assert _code(bad) == ("failed", "BAD_REQUEST")


async def test_a_narrative_gets_a_vector(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import semantic_processing

    document, _ = await practice.send_clean(seed=302)
    await practice.status(document)
    row = await _end(practice, await semantic_processing.enqueue(shell_file_id=document))
    await practice.rows("UPDATE exora.clinical_narratives SET text = NULL WHERE shell_file_id = $1", document)
    bad = await _end(practice, await semantic_processing.enqueue(shell_file_id=document))

    assert row["job_result"] == {"dimensions": 256}
    assert _code(bad) == ("failed", "BAD_REQUEST")


def test_texts_about_the_same_things_are_alike() -> None:
    """EXO-035"""
    one = vector_of("hypertension, metformin and gout")
    near, far = (
        vector_of("gout and hypertension, metformin"),
        vector_of("fracture of the left wrist after a fall"),
    )

    assert likeness(one, near) > 0.9 > 0.4 > likeness(one, far)


async def test_a_consent_must_be_given_not_withdrawn_and_not_expired(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import consent_verification

    now = datetime.now(UTC)
    for purpose, expires, withdrawn in (
        ("sharing", None, None),
        ("research", now - timedelta(days=1), None),
        ("teaching", None, now),
    ):
        await practice.rows(
            "INSERT INTO exora.consents (patient_id, purpose, given_at, expires_at, withdrawn_at)"
            " VALUES ($1, $2, now() - interval '2 days', $3, $4)",
            practice.patients[0],
            purpose,
            expires,
            withdrawn,
        )

    async def verify(purpose: str) -> Any:
        return await _end(
            practice, await consent_verification.enqueue(patient_id=practice.patients[0], purpose=purpose)
        )

    assert (await verify("sharing"))["status"] == "completed"
    for purpose in ("research", "teaching", "sale"):
        assert _code(await verify(purpose)) == ("failed", "CONSENT_MISSING")


async def test_a_provider_is_looked_up_in_the_registry(practice: Practice) -> None:
    """EXO-035"""
    from backstay_exora.jobs import provider_verification

    practice.stage.registry.next_faults([Answer(500)])
    known = await _end(practice, await provider_verification.enqueue(number=KNOWN_PROVIDER))
    unknown = await _end(practice, await provider_verification.enqueue(number=with_luhn("800361000000009")))
    wrong = await _end(practice, await provider_verification.enqueue(number="8003610000000010"))

    assert (known["status"], known["retry_count"]) == ("completed", 1)
    assert _code(unknown) == ("failed", "PROVIDER_UNKNOWN")
    assert _code(wrong) == ("failed", "BAD_REQUEST")
    status = await practice.value("SELECT status FROM exora.providers WHERE number = $1", KNOWN_PROVIDER)
    assert status == "verified"
