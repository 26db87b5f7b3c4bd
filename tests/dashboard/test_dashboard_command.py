"""`backstay dashboard` and `backstay top` as people start them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from backstay import Backstay, State

COMMAND = [sys.executable, "-m", "backstay"]


@pytest.fixture
def database(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'jobs.db'}"
    subprocess.run([*COMMAND, "db", "migrate", "--url", url], check=True, capture_output=True)
    return url


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **variables}
    return subprocess.run([*COMMAND, *words], capture_output=True, text=True, env=env, timeout=120)


def test_the_command_prints_a_link_that_lets_in_and_ends_by_a_signal(database: str) -> None:
    with subprocess.Popen(
        [*COMMAND, "dashboard", "--url", database, "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        link = process.stdout.readline().rpartition(" ")[2].strip()
        page = httpx.get(link, follow_redirects=True, headers={"Accept": "text/html"}, timeout=60)
        process.send_signal(signal.SIGTERM)

    assert page.status_code == 200
    assert page.url.path == "/"
    assert "All is well" in page.text or "Nothing keeps a job from running" in page.text


def test_the_command_refuses_what_cannot_be_with_advice(database: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        busy = run("dashboard", "--url", database, "--port", str(port))
    beyond = run("dashboard", "--url", database, "--host", "0.0.0.0")
    weak = run(
        "dashboard", "--url", database, BACKSTAY_DASHBOARD_USER="a", BACKSTAY_DASHBOARD_PASSWORD="short"
    )

    assert {done.returncode for done in (busy, beyond, weak)} == {1}
    assert "choose another with --port" in busy.stderr
    assert "BACKSTAY_DASHBOARD_PASSWORD" in beyond.stderr
    assert "at least 12 characters" in weak.stderr
    assert "short" not in weak.stderr


def test_top_looks_once_where_there_is_no_terminal(database: str) -> None:
    shown = run("top", "--url", database)
    data = run("top", "--url", database, "--json")

    seen = json.loads(data.stdout)
    assert shown.returncode == 0
    assert all(
        word in shown.stdout for word in ("All is well", "Queues", "Workers", "Running", "Newest dead")
    )
    assert seen["last_hour"] == {"completed": 0, "failed": 0, "crashed": 0, "dead": 0}
    assert [seen[name] for name in ("severity", "depths", "workers", "running", "dead")] == [
        "info",
        [],
        [],
        [],
        [],
    ]


async def test_top_says_what_is_wrong_and_what_died(database: str) -> None:
    app = Backstay(database)

    @app.job(max_attempts=1)
    async def charge(order: int) -> None:
        raise ConnectionError(f"the gateway refused order {order}")

    dead = await charge.enqueue(order=7)
    async with app.working():
        while (await dead.get()).state is not State.DEAD:  # the worker ends it
            await asyncio.sleep(0.05)
    await charge.enqueue(order=8)
    await app.close()

    shown = await asyncio.to_thread(run, "top", "--url", database)
    seen = json.loads((await asyncio.to_thread(run, "top", "--url", database, "--json")).stdout)

    assert "Something is broken" in shown.stdout
    assert "the gateway refused order" in shown.stdout
    assert seen["severity"] == "error"
    assert seen["dead"] == [str(dead.id)]
