"""Archiving as people use it: a setting, a command, a folder or a bucket, beside workers who go on."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest
from typer.testing import CliRunner

from backstay import Backstay
from backstay.cli.commands import backstay
from backstay.client.archive.places import open_place
from backstay.errors import ArchiveFailed, InvalidSettings
from backstay.records import JobFilter
from backstay.testing import free_port

KEYS = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_EC2_METADATA_DISABLED": "true"}


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """A server of the test's own that speaks S3."""
    port = free_port()
    server = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    give_up = time.monotonic() + 120
    while True:
        with suppress(OSError), create_connection(("127.0.0.1", port), timeout=1):
            break
        assert server.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.05)
    yield f"http://127.0.0.1:{port}"
    server.kill()
    server.wait()


@pytest.fixture(params=["folder", "bucket"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The two kinds of places, each empty."""
    if request.param == "folder":
        return f"file://{tmp_path}/archive"
    import boto3

    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    endpoint = request.getfixturevalue("s3")
    bucket = f"jobs-{os.urandom(4).hex()}"
    boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1").create_bucket(Bucket=bucket)
    return f"s3://{bucket}/old/jobs?endpoint={endpoint}&region=us-east-1"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/jobs.db"


def shop(url: str, **settings: Any) -> Backstay:
    app = Backstay(url, settings=settings)

    @app.job
    async def add(a: int, b: int) -> int:
        return a + b

    return app


async def completed(app: Backstay, count: int) -> None:
    """Run so many jobs to their end."""
    async with app.working():
        handles = [await app.jobs.enqueue_by_name("add", {"a": n, "b": 1}) for n in range(count)]
        await asyncio.gather(*(handle.result(timeout=60) for handle in handles))


async def test_jobs_go_to_a_place_and_come_back(url: str, place: str) -> None:
    app = shop(url)
    await completed(app, 30)
    before = {job.id: job for job in (await app.jobs.search(limit=100)).jobs}

    done = await app.archive.run(to=place, older_than=0)

    assert (done.jobs, done.removed) == (30, 30)
    assert (await app.jobs.search()).jobs == []
    [file] = await app.archive.files(place=place)
    assert file == done.files[0]
    assert [check.problem for check in await app.archive.verify(place=place)] == [None]
    restored = await app.archive.restore(file.name, place=place)
    again = await app.archive.restore(file.name, place=place)
    assert ((restored.jobs, restored.there), (again.jobs, again.there)) == ((30, 0), (0, 30))
    assert {job.id: job for job in (await app.jobs.search(limit=100)).jobs} == before
    await app.close()


async def test_a_damaged_file_is_found_and_not_restored(url: str, place: str) -> None:
    app = shop(url)
    await completed(app, 3)
    [file] = (await app.archive.run(to=place, older_than=0)).files
    kept = open_place(place)
    content = kept.read(f"{file.name}.jsonl.gz")
    assert content is not None
    kept.write(f"{file.name}.jsonl.gz", content[:-1] + b"\xff")

    [check] = await app.archive.verify(place=place)
    with pytest.raises(ArchiveFailed, match="nothing was restored"):
        await app.archive.restore(file.name, place=place)

    assert check.problem is not None
    assert (await app.jobs.search()).jobs == []
    with pytest.raises(ArchiveFailed, match="no file 'other'"):
        await app.archive.restore("other", place=place)
    await app.close()


async def test_the_leader_archives_by_itself_while_jobs_run(url: str, tmp_path: Path) -> None:
    told: list[str] = []
    app = Backstay(
        url,
        settings={
            "archive_to": str(tmp_path / "archive"),
            "archive_every": "1s",
            "tick": "100ms",
            "keep_completed": "0s",
        },
        emit=lambda event, /, **facts: told.append(event),
    )

    @app.job
    async def add(a: int) -> int:
        return a

    async with app.working():
        for n in range(200):
            assert await (await add.enqueue(a=n)).result(timeout=60) == n
        give_up = time.monotonic() + 60
        while (await app.jobs.search(JobFilter(kind="add"))).jobs and time.monotonic() < give_up:
            await asyncio.sleep(0.05)

    files = await app.archive.files()
    assert sum(file.jobs for file in files) >= 200
    assert {check.problem for check in await app.archive.verify()} == {None}
    assert "jobs.archived" in told
    assert "duty.failed" not in told
    await app.close()


async def test_without_its_place_jobs_stay_and_the_work_goes_on(url: str, tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "taken").write_text("a file where the folder should be")
    app = Backstay(
        url,
        settings={
            "archive_to": str(tmp_path / "taken"),
            "archive_every": "1s",
            "tick": "100ms",
            "keep_completed": "0s",
        },
        emit=lambda event, /, **facts: told.append(event),
    )

    @app.job
    async def add(a: int) -> int:
        return a

    async with app.working():
        job = await add.enqueue(a=1)
        give_up = time.monotonic() + 60
        while "duty.failed" not in told and time.monotonic() < give_up:
            await asyncio.sleep(0.05)
        assert await (await add.enqueue(a=2)).result(timeout=60) == 2

    assert "duty.failed" in told
    assert (await job.get()).result == 1
    await app.close()


@pytest.mark.parametrize(
    "wrong", ["", "ftp://host/x", "file://host/x", "file:///", "s3://", "s3://bucket?secret=x"]
)
def test_a_place_that_cannot_be_is_refused(wrong: str) -> None:
    with pytest.raises(InvalidSettings, match="cannot archive to"):
        open_place(wrong)


def test_a_bucket_that_is_not_there_is_told(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    place = open_place(f"s3://nobody?endpoint={s3}&region=us-east-1")

    with pytest.raises(ArchiveFailed, match="no bucket 'nobody'"):
        place.names(".json")
    with pytest.raises(ArchiveFailed, match="NoSuchBucket"):
        place.write("a", b"b")
    with pytest.raises(ArchiveFailed, match="NoSuchBucket"):
        place.read("a")


def test_the_commands_do_the_same(url: str, tmp_path: Path) -> None:
    async def prepare() -> None:
        app = shop(url)
        await completed(app, 5)
        await app.close()

    asyncio.run(prepare())
    place = str(tmp_path / "archive")

    def call(*words: str, code: int = 0) -> str:
        done = CliRunner().invoke(backstay, ["--url", url, "archive", *words], env={"COLUMNS": "200"})
        assert done.exit_code == code, done.output
        return done.output

    assert "5 jobs written to 1 files, 5 removed" in call("run", "--place", place, "--older-than", "0s")
    assert "1 files with 5 jobs are whole" in call("verify", "--place", place)
    name = next(Path(place).rglob("*.jsonl.gz")).relative_to(place).as_posix().removesuffix(".jsonl.gz")
    assert name in call("list", "--place", place)
    assert "5 jobs put back, 0 had been there" in call("restore", name, "--place", place)
    (Path(place) / f"{name}.jsonl.gz").unlink()
    assert "the file is gone" in call("verify", name, "--place", place, code=1)
    assert "there is no archive" in call("list", code=1)


async def test_what_is_younger_than_asked_for_stays(url: str, tmp_path: Path) -> None:
    app = shop(url)
    await completed(app, 2)

    done = await app.archive.run(to=str(tmp_path / "archive"), older_than=timedelta(hours=1))

    assert (done.jobs, done.files) == (0, ())
    assert len((await app.jobs.search()).jobs) == 2
    await app.close()
