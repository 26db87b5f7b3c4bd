"""Where files are kept: a folder with signed addresses, or a bucket; and the audit log, whose lines are chained."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest

from backstay_exora.settings import BadSetting, read_settings
from backstay_exora.store.connections import connect
from backstay_parts.servers import MotoServer, ServerProcess, answers_http, free_port
from backstay_parts.storage import S3Storage
from conftest import Practice, Stage


@pytest.fixture(scope="module")
def cloud() -> Iterator[MotoServer]:
    with MotoServer() as server:
        S3Storage(
            "letters", endpoint_url=server.url, access_key=server.access_key, secret_key=server.secret_key
        ).client.create_bucket(Bucket="letters")
        yield server


def test_documents_are_kept_in_a_bucket_by_a_setting(stage: Stage, cloud: MotoServer) -> None:
    """EXO-027: the same program, another setting."""
    environment = {
        **stage.environment,
        "EXORA_STORAGE": "s3://letters/exora",
        "EXORA_S3_ENDPOINT": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.access_key,
        "AWS_SECRET_ACCESS_KEY": cloud.secret_key,
    }
    program = """
import asyncio
from backstay_exora.app import settings
from backstay_exora.files import storage_of

async def main() -> None:
    storage = storage_of(settings)
    await storage.put("p/1/original", b"%PDF", content_type="application/pdf")
    print(await storage.get("p/1/original"), type(storage).__name__)

asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stdout.split() == ["b'%PDF'", "S3Storage"], done.stderr
    client = S3Storage(
        "letters", endpoint_url=cloud.url, access_key=cloud.access_key, secret_key=cloud.secret_key
    )
    assert asyncio.run(client.keys()) == ["exora/p/1/original"]


@pytest.mark.parametrize("value", ["s3:", "s3://", "ftp://host/x", "folder:"])
def test_a_storage_that_is_none_is_named(value: str) -> None:
    """EXO-018"""
    with pytest.raises(BadSetting, match="EXORA_STORAGE"):
        read_settings({"BACKSTAY_URL": "postgresql://x/y", "EXORA_STORAGE": value})


async def test_a_report_is_fetched_from_its_address_and_from_no_other(
    practice: Practice, stage: Stage
) -> None:
    """EXO-035"""
    from backstay_exora.jobs import report_generation

    job = await report_generation.enqueue(practice_id=practice.name, patient_id=practice.patients[0])
    address = urlsplit((await job.result())["url"])
    port = free_port()
    command = [sys.executable, "-m", "backstay_exora", "serve", "--no-work", "--port", str(port)]
    with ServerProcess(
        command, port=port, name="exora", env=stage.environment, is_ready=answers_http("/login")
    ) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=30) as client:
            good = await client.get(f"{address.path}?{address.query}")
            other = "1" if address.query.endswith("0") else "0"
            forged = await client.get(f"{address.path}?{address.query[:-1]}{other}")
            unsigned = await client.get(address.path)
            outside = await client.get(f"/files/../secret?{address.query}")

    assert good.content.startswith(b"%PDF")
    assert good.headers["content-type"] == "application/pdf"
    assert [answer.status_code for answer in (forged, unsigned, outside)] == [404, 404, 404]


async def _breaks(practice: Practice) -> list[tuple[int, str]]:
    rows = await practice.rows(
        "SELECT place, what FROM exora.audit_breaks() WHERE practice_id = $1 ORDER BY place", practice.name
    )
    return [(row["place"], row["what"]) for row in rows]


async def _note(practice: Practice, count: int) -> None:
    from backstay_exora.store.patients import note

    async with connect(practice.stage.url) as connection:
        for number in range(count):
            await note(connection, practice.name, actor="rita", action="test", subject=str(number))


async def test_a_retraction_is_a_line_of_a_chain_that_verifies(practice: Practice) -> None:
    """EXO-030"""
    from backstay_exora.retraction import retract

    document, _ = await practice.send_clean(seed=801)
    await practice.status(document)
    await retract(practice.name, document, by="rita", reason="another clinic's")

    rows = await practice.rows(
        "SELECT action FROM exora.audit_log WHERE practice_id = $1 ORDER BY place", practice.name
    )
    assert [row["action"] for row in rows] == ["document.uploaded", "document.retracted"]
    assert await _breaks(practice) == []


async def test_an_altered_line_and_a_missing_one_are_found(practice: Practice) -> None:
    """EXO-039"""
    await _note(practice, 5)
    assert await _breaks(practice) == []

    await practice.rows(
        "UPDATE exora.audit_log SET actor = 'ulf' WHERE practice_id = $1 AND place = 2", practice.name
    )
    assert await _breaks(practice) == [(2, "altered")]
    await practice.rows(
        "UPDATE exora.audit_log SET actor = 'rita' WHERE practice_id = $1 AND place = 2", practice.name
    )
    await practice.rows("DELETE FROM exora.audit_log WHERE practice_id = $1 AND place = 3", practice.name)
    assert await _breaks(practice) == [(4, "something is missing before it")]
    await practice.rows("DELETE FROM exora.audit_log WHERE practice_id = $1 AND place = 5", practice.name)
    assert (5, "the last line is missing") in await _breaks(practice)
    # The doctor of the other tests looks at the same database.
    await practice.rows("DELETE FROM exora.audit_log WHERE practice_id = $1", practice.name)
    await practice.rows("DELETE FROM exora.audit_heads WHERE practice_id = $1", practice.name)


async def test_lines_written_at_the_same_time_are_one_chain(practice: Practice) -> None:
    """EXO-039"""
    await asyncio.gather(*(_note(practice, 10) for _ in range(4)))

    places = await practice.rows(
        "SELECT place FROM exora.audit_log WHERE practice_id = $1 ORDER BY place", practice.name
    )
    assert [row["place"] for row in places] == list(range(1, 41))
    assert await _breaks(practice) == []


async def test_the_chain_stays_whole_when_old_lines_go(practice: Practice) -> None:
    """EXO-035"""
    await practice.rows(
        "INSERT INTO exora.audit_log (at, practice_id, actor, action, subject)"
        " SELECT now() - interval '8 years', $1, 'a', 'old', 's' FROM generate_series(1, 3)",
        practice.name,
    )
    await _note(practice, 2)

    removed = await practice.value("SELECT exora.forget_audit_lines(interval '7 years')")

    assert removed >= 3
    assert (
        await practice.value("SELECT min(place) FROM exora.audit_log WHERE practice_id = $1", practice.name)
        == 4
    )
    assert await _breaks(practice) == []
    await _note(practice, 1)
    assert await _breaks(practice) == []
