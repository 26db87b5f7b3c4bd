"""Private servers start on free ports, end cleanly, and end with the process that asked for them."""

import subprocess
import sys
import time
from pathlib import Path

import boto3
import httpx
import psutil
import pytest
import redis

from backstay_parts.servers import (
    LocalStripe,
    MotoServer,
    PrivateRedis,
    ServerDidNotStart,
    ServerProcess,
    free_port,
)


def test_three_object_stores_run_beside_each_other() -> None:
    with MotoServer() as one, MotoServer() as two:
        clients = [
            boto3.client(
                "s3",
                endpoint_url=server.url,
                aws_access_key_id=server.access_key,
                aws_secret_access_key=server.secret_key,
                region_name=server.region,
            )
            for server in (one, two)
        ]
        clients[0].create_bucket(Bucket="only-in-the-first")

        assert [bucket["Name"] for bucket in clients[0].list_buckets()["Buckets"]] == ["only-in-the-first"]
        assert clients[1].list_buckets()["Buckets"] == []


def test_redis_keeps_what_it_was_told_over_a_kill(tmp_path: Path) -> None:
    with PrivateRedis(folder=tmp_path) as server:
        with redis.Redis.from_url(server.redis_url) as client:
            client.config_set("appendfsync", "always")
            client.set("kept", "yes")
        server.kill()
        server.start()

        with redis.Redis.from_url(server.redis_url) as client:
            assert client.get("kept") == b"yes"


def test_localstripe_answers_with_its_key() -> None:
    with LocalStripe() as server:
        answer = httpx.get(f"{server.url}/v1/customers", auth=(server.api_key, ""))

        assert answer.json()["data"] == []


def test_a_server_that_fails_says_what_it_printed() -> None:
    broken = ServerProcess(
        [sys.executable, "-c", "raise SystemExit('no disk')"], port=free_port(), name="broken"
    )

    with pytest.raises(ServerDidNotStart, match="no disk"):
        broken.start()
    broken.close()


def test_a_server_ends_when_its_asker_is_killed() -> None:
    script = (
        "import psutil, sys; from backstay_parts.servers import PrivateRedis\n"
        "server = PrivateRedis().start()\n"
        "print(*[child.pid for child in psutil.Process().children(recursive=True)], flush=True)\n"
        "sys.stdin.read()"
    )
    asker = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert asker.stdout is not None
    assert asker.stdin is not None
    pids = [int(pid) for pid in asker.stdout.readline().split()]
    asker.kill()
    asker.wait(10)
    asker.stdout.close()
    asker.stdin.close()

    assert len(pids) == 2
    deadline = time.monotonic() + 30
    while any(map(psutil.pid_exists, pids)):
        assert time.monotonic() < deadline, "the server outlived its asker"
        time.sleep(0.05)
