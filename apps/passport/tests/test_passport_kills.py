"""Killed at any statement of any handler, a worker leaves one of everything behind it."""

from __future__ import annotations

import hashlib
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from passport_processes import Databases, Workers, open_world
from passport_world import SMALL_RULES, World
from sqlalchemy import func, select

from backstay.testing import PrivatePostgres
from backstay_parts.webhooks import WebhookReceiver
from backstay_passport.actions import audit, documents, passports, rules, snapshots, webhooks
from backstay_passport.demo.documents import as_xml
from backstay_passport.export import ExportFormat
from backstay_passport.job_views import newest_jobs
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.store.tables import (
    data_snapshots,
    document_versions,
    facts,
    passport_exports,
    passport_versions,
    rule_package_versions,
    rule_tests_runs,
    webhook_deliveries,
)

SOURCE = Path(__file__).parents[1] / "src"
CUTS_IN_THE_GATE = 6
# What the nine handlers must have told, each once, in success and in failure.
TOLD = {
    "FACTS_PARSED": 2,
    "FACTS_REJECTED": 1,
    "DOCUMENT_INGESTED": 1,
    "DOCUMENT_REJECTED": 1,
    "SNAPSHOT_READY": 2,
    "PASSPORT_COMPILED": 2,
    "COMPILE_FAILED": 1,
    "PASSPORT_SIGNED": 2,
    "QR_GENERATED": 2,
    "TESTS_RUN": 1,
    "PASSPORT_EXPORTED": 1,
    "WEBHOOK_DELIVERED": 1,
    "WEBHOOK_FAILED": 1,
}
ENDED = {
    ("PARSE_FACTS", "SUCCEEDED"): 2,
    ("PARSE_FACTS", "FAILED"): 1,
    ("INGEST_DOCUMENT", "SUCCEEDED"): 1,
    ("INGEST_DOCUMENT", "FAILED"): 1,
    ("BUILD_SNAPSHOT", "SUCCEEDED"): 1,
    ("COMPILE_PASSPORT", "SUCCEEDED"): 2,
    ("COMPILE_PASSPORT", "FAILED"): 1,
    ("SIGN_PASSPORT", "SUCCEEDED"): 2,
    ("GENERATE_QR", "SUCCEEDED"): 2,
    ("RUN_RULE_TESTS", "SUCCEEDED"): 1,
    ("EXPORT_PASSPORT", "SUCCEEDED"): 1,
    ("DELIVER_WEBHOOK", "SUCCEEDED"): 1,
    ("DELIVER_WEBHOOK", "FAILED"): 1,
}


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Workers]:
    """What starts worker processes with a signing key."""
    key = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="
    monkeypatch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", key)
    starter = Workers()
    yield starter
    starter.close()


@pytest.fixture(scope="module")
def receiver() -> Iterator[WebhookReceiver]:
    """A real HTTP server that takes webhooks."""
    with WebhookReceiver() as server:
        yield server


@pytest.fixture
def made(
    request: pytest.FixtureRequest, tmp_path: Path, workers: Workers, receiver: WebhookReceiver
) -> Databases:
    """A database in which a job of every type waits; the export is of a version that is signed already."""
    server: PrivatePostgres | None = None
    if request.param == "postgres":
        server = request.getfixturevalue("postgres")
    prepared = Databases(tmp_path, server, f"kill{abs(hash(request.node.nodeid)):x}")
    world = open_world(prepared.url)
    world.compile()
    assert [code for code, _ in workers.run((prepared.url, 0))] == [0]
    _ask_for_everything(world, receiver.url)
    world.services.close()
    return prepared


def _ask_for_everything(world: World, receiver: str) -> None:
    services, tenant = world.services, world.tenant
    with services.database.read() as connection:
        signed = connection.execute(select(passport_versions.c.id)).scalar_one()
        snapshot_id = connection.execute(select(data_snapshots.c.id)).scalar_one()
        rules_id = connection.execute(select(rule_package_versions.c.id)).scalar_one()
        passport_id = connection.execute(select(passport_versions.c.passport_id)).scalar_one()
    world.upload({"components": [{"sku": "UP", "mass_kg": 1}]})
    world.upload({"components": [{"name": "no number"}]})
    content = as_xml({"components": [{"sku": "XML", "mass_kg": 2}]})
    documents.upload(services, tenant, name="b.xml", content=content, mime_type="application/xml", kind=None)
    documents.upload(
        services, tenant, name="c.xml", content=b"<broken", mime_type="application/xml", kind=None
    )
    passports.compile_version(services, tenant, passport_id, snapshot_id, rules_id)
    unsealed = snapshots.create(services, tenant, "never sealed")
    passports.compile_version(services, tenant, passport_id, unsealed, rules_id)
    rules.run_tests(services, tenant, world.rules(SMALL_RULES.replace("small", "other")), seed=3)
    passports.export_version(services, tenant, signed, ExportFormat.XML, public=True)
    webhooks.add(services, tenant, f"{receiver}/kills", ["SNAPSHOT_CREATED"])
    # An address that nobody may call fails at once, without a second attempt to wait for.
    webhooks.add(services, tenant, "http://127.0.0.2/refused", ["SNAPSHOT_CREATED"])
    snapshots.build(services, tenant, snapshots.create(services, tenant, "built"))


def _world_of(url: str) -> World:
    world = World.__new__(World)
    world.services = build(Settings(database_url=url))
    with world.services.database.read() as connection:
        world.tenant = connection.execute(select(passport_versions.c.tenant_id)).scalars().first() or ""
    return world


def one_of_everything(world: World) -> None:
    """Check what the handlers must have left, exactly once each."""
    with world.services.database.read() as connection:
        versions = connection.execute(select(passport_versions)).mappings().all()
        keys = Counter(connection.execute(select(facts.c.fact_key)).scalars())
        found = Counter(connection.execute(select(document_versions.c.status)).scalars())
        states = Counter(connection.execute(select(data_snapshots.c.status)).scalars())
        exports, runs = (
            connection.execute(select(func.count()).select_from(table)).scalar_one()
            for table in (passport_exports, rule_tests_runs)
        )
        delivered = Counter(connection.execute(select(webhook_deliveries.c.status)).scalars())
    assert [version["status"] for version in versions] == ["SIGNED", "SIGNED"]
    assert all(version["signature"] and version["qr_png"] for version in versions)
    assert keys == {"battery:A": 1, "battery:UP": 1, "battery:XML": 1}
    assert (found["VALIDATED"], found["REJECTED"]) == (2, 2)
    assert states == {"SEALED": 1, "READY": 1, "BUILDING": 1}
    assert (exports, runs) == (1, 1)
    assert delivered == {"DELIVERED": 1, "FAILED": 1}
    for event_type, count in TOLD.items():
        assert len(world.events(event_type)) == count, event_type
    jobs = Counter((job["type"], job["status"]) for job in newest_jobs(world.services, world.tenant))
    assert jobs == ENDED
    assert audit.verify_chains(world.services, world.tenant)[1] == []


def kill_at(made: Databases, workers: Workers, statement: int) -> bool:
    """Kill a worker at a statement, let another finish, check; return False if there is no such statement."""
    url = made.copy()
    [(code, said)] = workers.run((url, statement))
    if code == 0:
        return False
    assert code == -9, said
    [(code, said)] = workers.run((url, 0))
    assert code == 0, said
    world = _world_of(url)
    one_of_everything(world)
    world.services.close()
    made.forget(url)
    return True


@pytest.mark.parametrize("made", ["sqlite"], indirect=True)
def test_a_worker_killed_at_a_statement_leaves_one_of_everything(made: Databases, workers: Workers) -> None:
    """BPC-002, BPC-005, BPC-013, BPC-019: kill -9 at statements of all nine handlers, drawn by the source's hash."""
    [(code, said)] = workers.run((made.copy(), 0))
    assert code == 0, said
    statements = int(said)
    assert statements > 100
    seed = b"".join(path.read_bytes() for path in sorted(SOURCE.rglob("*.py")))
    for cut in range(CUTS_IN_THE_GATE):
        draw = int.from_bytes(hashlib.sha256(seed + bytes([cut])).digest()[:8])
        assert kill_at(made, workers, 1 + draw % (statements - 20))


@pytest.mark.prove
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("made", ["sqlite", "postgres"], indirect=True)
def test_a_worker_killed_at_every_statement_leaves_one_of_everything(
    made: Databases, workers: Workers
) -> None:
    """BPC-005, BPC-019: kill -9 at each statement, commits among them, of all nine handlers."""
    statement = 1
    while kill_at(made, workers, statement):
        statement += 1
    sys.stdout.write(f"killed at {statement - 1} statements\n")
    assert statement > 100
