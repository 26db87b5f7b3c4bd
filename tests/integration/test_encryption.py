"""Encrypted kinds: nothing readable in the database, and everything readable where the handler runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from backstay import Backstay
from backstay.errors import InvalidArguments, InvalidSettings
from backstay.handlers.sealed import ENVELOPE, UnknownSeal
from backstay.integrations.encryption import PayloadKeys, encrypt_jobs
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres

SECRET = "canary-51d7"
OLD, NEW = b"o" * 32, b"n" * 32


def application(url: str, keys: PayloadKeys | None) -> Backstay:
    app = Backstay(url, emit=lambda event, **facts: None)
    if keys is not None:
        encrypt_jobs(app, keys, kinds={"charge"})

    @app.job
    async def charge(card: str, amount: int = 1) -> dict[str, Any]:
        return {"card": card, "amount": amount}

    return app


@pytest.fixture(params=["sqlite", "postgres"])
async def url(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'encrypted.db'}"
        return
    server: PrivatePostgres = request.getfixturevalue("postgres_server")
    server.create_database("encrypted")
    yield server.url("encrypted")
    server.drop_database("encrypted")


async def finished(app: Backstay) -> None:
    await app.worker(until_empty=True).run()


async def test_neither_arguments_nor_results_can_be_read_in_the_database(url: str) -> None:
    app = application(url, PayloadKeys({"one": OLD}))
    await app.migrate()
    stored = await app.jobs.enqueue_by_name("charge", {"card": SECRET, "amount": 7})
    await app.acting_as("ann", tenant="", rights={"*"}).schedules.create(
        "s", "charge", every="1h", args={"card": SECRET}
    )

    await finished(app)

    job = await app.jobs.get(stored.id)
    assert (list(job.args), list(job.result or {})) == ([ENVELOPE], [ENVELOPE])
    assert await stored.result(timeout=5) == {"card": SECRET, "amount": 7}
    assert SECRET not in repr(job) + repr(await app.schedules.get("s"))
    await app.close()


async def test_a_scheduled_job_is_opened_with_its_reference_time_beside_it(url: str) -> None:
    app = application(url, PayloadKeys({"one": OLD}))
    await app.migrate()
    await app.acting_as("ann", tenant="", rights={"*"}).schedules.create(
        "s", "charge", every="1h", args={"card": SECRET}
    )
    handle = await app.schedules.run_now("s")
    assert handle is not None

    await finished(app)

    assert (await handle.result(timeout=5))["card"] == SECRET
    await app.close()


async def test_a_key_is_rotated_while_jobs_wait(url: str) -> None:
    before = application(url, PayloadKeys({"one": OLD}))
    await before.migrate()
    old = await before.jobs.enqueue_by_name("charge", {"card": SECRET})
    after = application(url, PayloadKeys({"two": NEW, "one": OLD}))
    new = await after.jobs.enqueue_by_name("charge", {"card": SECRET})

    await finished(after)

    names = [(await after.jobs.get(handle.id)).args[ENVELOPE].partition(".")[0] for handle in (old, new)]
    assert names == ["one", "two"]
    assert (await new.result(timeout=5))["card"] == SECRET
    assert (await after.jobs.get(old.id)).state == "completed"
    await before.close()
    await after.close()


async def test_a_job_waits_for_a_worker_that_has_its_key(url: str) -> None:
    sender = application(url, PayloadKeys({"two": NEW}))
    await sender.migrate()
    stored = await sender.jobs.enqueue_by_name("charge", {"card": SECRET})
    without = application(url, PayloadKeys({"one": OLD}))

    await finished(without)
    held = await sender.jobs.get(stored.id)
    worker = sender.worker()
    running = asyncio.create_task(worker.run())
    result = await stored.result(timeout=60)
    worker.stop()
    await running

    assert (held.state, held.reason) == ("held", "arguments do not fit")
    assert result["card"] == SECRET
    await sender.close()
    await without.close()


async def test_jobs_from_before_are_run_and_a_key_stands_for_the_same_job(url: str) -> None:
    plain = application(url, None)
    await plain.migrate()
    early = await plain.jobs.enqueue_by_name("charge", {"card": "plain"})
    app = application(url, PayloadKeys({"one": OLD}))
    first, again = [
        await app.jobs.enqueue_by_name("charge", {"card": SECRET}, JobOptions(key="order")) for _ in range(2)
    ]

    await finished(app)

    assert (await app.jobs.get(early.id)).state == "completed"
    assert (first.id, again.is_new) == (again.id, False)
    await plain.close()
    await app.close()


async def test_the_time_of_a_fire_cannot_be_put_into_what_is_encrypted() -> None:
    app = application("sqlite://:memory:", PayloadKeys({"one": OLD}))
    client = app.acting_as("ann", tenant="", rights={"*"})

    with pytest.raises(InvalidArguments, match="time of a fire"):
        await client.schedules.create("s", "charge", every="1h", args={"card": "{fire_date}"})
    await app.close()


def test_what_was_altered_or_is_of_another_kind_is_not_opened() -> None:
    keys = PayloadKeys({"one": OLD})
    sealed = keys.close('{"a":1}', "charge")

    assert keys.open(sealed, "charge") == '{"a":1}'
    assert keys.close('{"a":1}', "charge") == sealed
    assert keys.close('{"a":2}', "charge")[:20] != sealed[:20]
    for text, kind in (
        (sealed, "other"),
        (sealed[:-4] + "AAAA", "charge"),
        ("two.x", "charge"),
        ("", "charge"),
    ):
        with pytest.raises(UnknownSeal):
            keys.open(text, kind)
    assert SECRET not in repr(keys) + json.dumps(sealed)


@pytest.mark.parametrize("keys", [{}, {"short": b"x"}, {"a.b": OLD}, {"": OLD}])
def test_keys_that_cannot_be_are_refused(keys: dict[str, bytes]) -> None:
    with pytest.raises(InvalidSettings):
        PayloadKeys(keys)


def test_what_the_database_must_read_is_not_encrypted() -> None:
    app = Backstay("sqlite://:memory:")
    encrypt_jobs(app, PayloadKeys({"one": OLD}), kinds={"charge", "late"})

    with pytest.raises(InvalidSettings, match="promoted"):

        @app.job(kind="charge", promote=["card"])
        async def charge(card: str) -> None: ...

    @app.job
    async def known() -> None: ...

    with pytest.raises(InvalidSettings, match="registered already"):
        encrypt_jobs(app, PayloadKeys({"one": OLD}), kinds={"known"})
