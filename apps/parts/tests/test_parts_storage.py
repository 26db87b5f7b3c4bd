"""The same suite over a folder, S3 and Supabase's routes: an error is never taken for an absent object."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from backstay_parts.faults import Answer, Fault, FaultProxy
from backstay_parts.servers import MotoServer
from backstay_parts.storage import (
    BadKey,
    FolderStorage,
    ObjectNotFound,
    S3Storage,
    Storage,
    StorageRefused,
    StorageUnavailable,
    SupabaseServer,
    SupabaseStorage,
)


@pytest.fixture(scope="module")
def cloud() -> Iterator[MotoServer]:
    with MotoServer() as server:
        yield server


@pytest.fixture(scope="module")
def supabase() -> Iterator[SupabaseServer]:
    with SupabaseServer() as server:
        yield server


def _s3(cloud: MotoServer, url: str | None = None) -> S3Storage:
    storage = S3Storage(
        "files",
        endpoint_url=url or cloud.url,
        access_key=cloud.access_key,
        secret_key=cloud.secret_key,
        prefix="app/",
        timeout=2,
    )
    if url is None:
        storage.client.create_bucket(Bucket="files")
    return storage


@pytest.fixture(params=["folder", "s3", "supabase"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    if request.param == "folder":
        return FolderStorage(tmp_path)
    if request.param == "s3":
        return _s3(request.getfixturevalue("cloud"))
    server: SupabaseServer = request.getfixturevalue("supabase")
    return SupabaseStorage(server.url, key=server.key, bucket="files")


async def test_objects_are_stored_replaced_listed_and_removed(storage: Storage) -> None:
    await storage.put("clinic/7/scan one.png", b"old")
    await storage.put("clinic/7/scan one.png", b"\x00new", content_type="image/png")
    await storage.put("clinic/8.txt", b"")

    known = await storage.info("clinic/7/scan one.png")
    assert known is not None
    assert (known.size, known.content_type) == (4, "image/png")
    assert await storage.get("clinic/7/scan one.png") == b"\x00new"
    assert await storage.keys("clinic/7") == ["clinic/7/scan one.png"]
    assert await storage.keys("clinic/") == ["clinic/7/scan one.png", "clinic/8.txt"]

    await storage.delete("clinic/8.txt")
    await storage.delete("clinic/8.txt")
    assert await storage.info("clinic/8.txt") is None
    with pytest.raises(ObjectNotFound):
        await storage.get("clinic/8.txt")


@pytest.mark.parametrize("key", ["", "../x", "a/../b", "/a", "a//b", "a\x00", "x" * 600, "a/."])
async def test_an_unsafe_key_is_refused(storage: Storage, key: str) -> None:
    with pytest.raises(BadKey):
        await storage.put(key, b"x")


async def test_more_objects_than_one_answer_holds_are_all_listed(tmp_path: Path) -> None:
    storage = FolderStorage(tmp_path)
    for number in range(1203):
        (tmp_path / f"{number:05d}").write_bytes(b"")

    with SupabaseServer(folder=tmp_path.parent) as server:
        behind = SupabaseStorage(server.url, key=server.key, bucket=tmp_path.name)
        assert await behind.keys() == await storage.keys()


async def test_a_signed_address_reads_without_a_key(cloud: MotoServer, supabase: SupabaseServer) -> None:
    for storage in (_s3(cloud), SupabaseStorage(supabase.url, key=supabase.key, bucket="signed")):
        await storage.put("a.txt", b"hello")

        url = await storage.signed_url("a.txt", expires_in=timedelta(minutes=5))

        assert httpx.get(url).content == b"hello"


async def test_supabase_refuses_an_expired_or_changed_address(supabase: SupabaseServer) -> None:
    storage = SupabaseStorage(supabase.url, key=supabase.key, bucket="signed")
    await storage.put("b.txt", b"hello")
    await storage.put("c.txt", b"other")

    expired = await storage.signed_url("b.txt", expires_in=timedelta(seconds=-1))
    changed = (await storage.signed_url("b.txt", expires_in=timedelta(hours=1))).replace("b.txt", "c.txt")

    assert httpx.get(expired).status_code == 400
    assert httpx.get(changed).status_code == 400


async def test_a_folder_checks_its_own_signature(tmp_path: Path) -> None:
    now = [1000.0]
    storage = FolderStorage(tmp_path, base_url="http://127.0.0.1:8000/files", clock=lambda: now[0])

    url = await storage.signed_url("a/b.txt", expires_in=timedelta(seconds=60))
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}

    assert url.startswith("http://127.0.0.1:8000/files/a/b.txt?")
    assert storage.verify("a/b.txt", **query)
    assert not storage.verify("a/c.txt", **query)
    now[0] = 1061
    assert not storage.verify("a/b.txt", **query)


@pytest.mark.parametrize("kind", ["s3", "supabase"])
async def test_a_failing_storage_is_not_a_missing_object(
    kind: str, cloud: MotoServer, supabase: SupabaseServer
) -> None:
    server = cloud if kind == "s3" else supabase
    with FaultProxy.before(server.url) as proxy:
        storage: Storage = (
            _s3(cloud, proxy.url)
            if kind == "s3"
            else SupabaseStorage(proxy.url, key=supabase.key, bucket="files", timeout=2)
        )
        for fault in (Answer(503), Fault.RESET, Fault.REFUSE, Fault.LOSE_ANSWER):
            proxy.mode = fault
            with pytest.raises(StorageUnavailable):
                await storage.info("nothing")
        proxy.mode = Answer(403)
        with pytest.raises(StorageRefused):
            await storage.info("nothing")
