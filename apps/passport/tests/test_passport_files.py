"""Files in buckets, and what is not the file's fault: a store that is away, a reader that is not installed."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

import boto3
import pytest
from passport_world import World
from PIL import Image
from sqlalchemy import select

from backstay.testing import SyncHarness
from backstay_parts.servers import MotoServer
from backstay_parts.storage import S3Storage
from backstay_passport.actions import documents, passports
from backstay_passport.actions import jobs as job_actions
from backstay_passport.demo.documents import as_json
from backstay_passport.domain.hashing import sha256
from backstay_passport.export import ExportFormat
from backstay_passport.files import bucket
from backstay_passport.ingest import reading
from backstay_passport.job_views import newest_jobs
from backstay_passport.store.tables import facts, passport_exports, passport_versions

BILL = as_json({"components": [{"sku": "S3-1", "mass_kg": 3}]})


@pytest.fixture(scope="module")
def clouds() -> Iterator[MotoServer]:
    """Amazon's S3 by moto."""
    with MotoServer() as server:
        yield server


@pytest.fixture
def store(clouds: MotoServer, monkeypatch: pytest.MonkeyPatch) -> S3Storage:
    """A bucket as the application finds it, by the environment alone."""
    return made(found(clouds, monkeypatch))


def found(server: MotoServer, monkeypatch: pytest.MonkeyPatch) -> S3Storage:
    """A bucket at a server, which may not be running."""
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BPC_S3_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret_key)
    return bucket("papers")


def made(storage: S3Storage) -> S3Storage:
    """The bucket, made if it is not there."""
    storage.client.create_bucket(Bucket=storage.bucket)
    return storage


def ingest(world: World, address: str) -> str:
    """Ask for a document at an address to be read."""
    done = documents.ingest_address(
        world.services, world.tenant, file_url=address, name="", mime_type="application/json", kind=None
    )
    return done.document_id


def test_a_store_that_is_away_is_tried_again_until_it_answers(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-044, BPC-052: an outage is not the document's fault; the inbox shows that it waits."""
    server = MotoServer()
    storage = found(server, monkeypatch)
    ingest(world, "s3://papers/in/bill.json")
    first = runner.drain()
    [waiting] = documents.inbox(world.services, world.tenant)
    with server:
        made(storage)
        asyncio.run(storage.put("in/bill.json", BILL))
        runner.drain(with_scheduled=True)

    assert [one.job.attempt for one in first.attempts] == [1]
    assert (waiting["name"], waiting["status"], waiting["id"]) == ("bill.json", "WAITING", None)
    [read] = documents.inbox(world.services, world.tenant)
    assert (read["status"], read["kind"]) == ("VALIDATED", "BOM")
    with world.services.database.read() as connection:
        assert list(connection.execute(select(facts.c.fact_key)).scalars()) == ["battery:S3-1"]


def test_what_is_not_in_the_bucket_fails_at_once_and_is_shown(
    runner: SyncHarness, world: World, store: S3Storage
) -> None:
    """BPC-044: no key, no second attempt, and no document that disappears."""
    ingest(world, "s3://papers/nowhere.json")

    ran = runner.drain(with_scheduled=True).attempts

    [shown] = documents.inbox(world.services, world.tenant)
    assert len(ran) == 1
    assert (shown["status"], shown["error"]["code"]) == ("FAILED", "NOT_FOUND")


def test_an_export_is_put_into_a_bucket(runner: SyncHarness, world: World, store: S3Storage) -> None:
    """BPC-045: the bytes that are stored are the bytes that are there."""
    world.compile()
    runner.drain()
    with world.services.database.read() as connection:
        version_id = connection.execute(select(passport_versions.c.id)).scalar_one()
    where = "s3://papers/out/passport.xml"
    passports.export_version(
        world.services, world.tenant, version_id, ExportFormat.XML, public=True, destination=where
    )
    runner.drain()

    content = asyncio.run(store.get("out/passport.xml"))

    with world.services.database.read() as connection:
        assert connection.execute(select(passport_exports.c.content_hash)).scalar_one() == sha256(content)


def test_the_usual_aws_variables_are_used(store: S3Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    """BPC-044: key, session token and region, as every AWS program reads them."""
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a-passing-token")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    # What a process has found once it keeps; this is as in a new one.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)

    address = asyncio.run(bucket("papers").signed_url("x", expires_in=timedelta(minutes=5)))

    assert "X-Amz-Security-Token=a-passing-token" in address
    assert "eu-central-1" in address


def test_a_reader_that_is_not_installed_rejects_no_document(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-044: the job fails and says what to install; run again later, it reads the same document."""
    picture = io.BytesIO()
    Image.new("RGB", (200, 100), "white").save(picture, "PNG")
    documents.upload(
        world.services,
        world.tenant,
        name="scan.png",
        content=picture.getvalue(),
        mime_type="image/png",
        kind=None,
    )
    with monkeypatch.context() as patch:
        patch.setattr(reading, "LANGUAGES", "tlh")
        runner.drain()
    [shown] = documents.inbox(world.services, world.tenant)
    [job] = newest_jobs(world.services, world.tenant)

    job_actions.retry(world.services, world.tenant, UUID(job["job_id"]), by="ada")
    runner.drain()

    assert (shown["status"], shown["error"]["code"]) == ("FAILED", "READER_UNAVAILABLE")
    assert "tlh" in shown["error"]["problem"]
    [read] = documents.inbox(world.services, world.tenant)
    assert (read["status"], read["kind"]) == ("UPLOADED", "OTHER")
