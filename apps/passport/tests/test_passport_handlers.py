"""The handlers on both databases: what each writes, and what it refuses."""

from __future__ import annotations

import base64
import io
import json
from typing import Any
from uuid import uuid4

import nacl.signing
import pytest
import zxingcpp
from passport_world import SMALL_RULES, World
from PIL import Image
from sqlalchemy import select

from backstay import State
from backstay.errors import InvalidArguments
from backstay.testing import SyncHarness
from backstay_passport.actions import passports, rules, snapshots
from backstay_passport.domain.canonical import encode, parse
from backstay_passport.domain.compile import Limits
from backstay_passport.domain.facts import DocumentKind
from backstay_passport.domain.hashing import sha256
from backstay_passport.domain.signing import KEY_VARIABLE
from backstay_passport.job_views import job_view
from backstay_passport.settings import Settings
from backstay_passport.store.tables import (
    data_snapshots,
    document_versions,
    facts,
    metadata,
    passport_versions,
    rule_package_versions,
    rule_tests_runs,
)

BOM = {"components": [{"sku": "A", "mass_kg": "12.5"}, {"sku": "B", "mass_kg": 3}]}


def rows(world: World, table: Any) -> list[Any]:
    """All rows of a table."""
    with world.services.database.read() as connection:
        return list(connection.execute(select(table)).mappings())


def failed(drained: Any) -> dict[str, Any]:
    """The error of the only job that failed, in the application's words."""
    [ran] = [one for one in drained.attempts if one.job.state is State.DEAD]
    error = ran.job.error
    assert error is not None
    return {"attempts": ran.job.attempt, "reason": ran.job.reason, **error}


def test_an_uploaded_bill_of_materials_becomes_facts(runner: SyncHarness, world: World) -> None:
    """BPC-011, BPC-013, BPC-014, TC-P2-01, TC-P2-05, TC-P2-06, TC-P2-07: upload → job → facts, VALIDATED, event."""
    uploaded = world.upload(BOM)

    drained = runner.drain()

    assert [one.job.kind for one in drained.attempts] == ["PARSE_FACTS"]
    found = rows(world, facts)
    assert {row["fact_key"] for row in found} == {"battery:A", "battery:B"}
    for row in found:
        assert row["source_doc_version_id"] == uploaded.version_id
        assert sha256(bytes(row["payload_canonical"])) == bytes(row["payload_hash"])
        assert encode(parse(bytes(row["payload_canonical"]))) == bytes(row["payload_canonical"])
    assert rows(world, document_versions)[0]["status"] == "VALIDATED"
    [event] = world.events("FACTS_PARSED")
    assert (event.aggregate_type, event.aggregate_id, event.actor_id) == (
        "DocumentVersion",
        uploaded.version_id,
        None,
    )
    assert parse(event.payload_canonical) == {"fact_count": 2}


@pytest.mark.parametrize(
    ("content", "kind", "pointer"),
    [
        (b'{"components": [', DocumentKind.BOM, ""),
        (b'{"components": [{"sku": "A"}, {"name": "x"}]}', DocumentKind.BOM, "/components/1/sku"),
        (b'{"components": [{"sku": "A", "mass_kg": 1e3}]}', DocumentKind.BOM, "/components/0/mass_kg"),
        (b'{"components": [{"sku": "A"}]}', DocumentKind.PCF, "/declarations"),
        (b'{"components": [{"sku": "A"}]}', DocumentKind.OTHER, ""),
    ],
)
def test_a_bad_document_is_rejected_with_its_place(
    runner: SyncHarness, world: World, content: bytes, kind: DocumentKind, pointer: str
) -> None:
    """BPC-015, BPC-052, TC-P1-08, TC-P2-03: REJECTED with a pointer, one attempt, no facts, an event."""
    world.upload(content, kind)

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "DOCUMENT_REJECTED")
    [version] = rows(world, document_versions)
    assert version["status"] == "REJECTED"
    assert json.loads(version["error"])["pointer"] == pointer
    assert rows(world, facts) == []
    assert len(world.events("FACTS_REJECTED")) == 1


def test_a_crash_does_not_double_facts(runner: SyncHarness, world: World) -> None:
    """BPC-005, BPC-013: a worker that dies before its transaction leaves nothing, and the next run is whole."""
    world.upload(BOM)
    runner.crash_worker(world.services.kinds["PARSE_FACTS"], when="before")
    runner.travel("2m")

    runner.drain()

    assert len(rows(world, facts)) == 2
    assert len(world.events("FACTS_PARSED")) == 1


def test_a_snapshot_becomes_ready_once(runner: SyncHarness, world: World) -> None:
    """BPC-016, BPC-052, TC-P3-01, TC-P3-02, TC-P3-03, TC-P3-04: BUILDING → READY, empty too, then an error."""
    snapshot_id = snapshots.create(world.services, world.tenant, "empty")
    snapshots.build(world.services, world.tenant, snapshot_id)
    assert runner.drain().completed == 1
    assert rows(world, data_snapshots)[0]["status"] == "READY"
    [event] = world.events("SNAPSHOT_READY")
    assert (event.aggregate_type, parse(event.payload_canonical)) == ("DataSnapshot", {})

    snapshots.build(world.services, world.tenant, snapshot_id)
    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "SNAPSHOT_INVALID_STATE")
    assert "is READY; it must be BUILDING" in error["message"]


def test_the_whole_pipeline_ends_signed_with_a_code(runner: SyncHarness, world: World) -> None:
    """BPC-017, BPC-024, BPC-027, BPC-030, BPC-032, BPC-046, BPC-051, TC-P4-01, TC-P4-08, TC-P4-09, TC-P5-01, TC-P5-05,
    TC-P5-06, TC-P5-07, TC-P6-01, TC-P6-05, TC-P6-06: compile → sign → code, each with its event."""
    world.compile()

    drained = runner.drain()

    order = [(one.job.kind, one.job.priority) for one in drained.attempts]
    assert order == [("COMPILE_PASSPORT", 3), ("SIGN_PASSPORT", 1), ("GENERATE_QR", 2)]
    [version] = rows(world, passport_versions)
    assert version["status"] == "SIGNED"
    for name in ("payload", "receipt"):
        assert sha256(bytes(version[f"{name}_canonical"])) == bytes(version[f"{name}_hash"])
    nacl.signing.VerifyKey(bytes(version["signing_key_public"])).verify(
        bytes(version["receipt_hash"]), bytes(version["signature"])
    )
    [code] = zxingcpp.read_barcodes(Image.open(io.BytesIO(bytes(version["qr_png"]))))
    assert code.text == version["qr_payload"]
    [compiled] = world.events("PASSPORT_COMPILED")
    told = parse(compiled.payload_canonical)
    assert told["build_id"] == version["compiler_build_id"] == "test-build"
    assert parse(bytes(version["receipt_canonical"]))["compiler_build_id"] == "test-build"
    assert told == {
        "snapshot_id": version["snapshot_id"],
        "rules_id": version["rule_package_version_id"],
        "build_id": "test-build",
    }
    assert parse(world.events("PASSPORT_SIGNED")[0].payload_canonical) == {"key_id": "test-key-1"}
    assert parse(world.events("QR_GENERATED")[0].payload_canonical) == {"qr_payload": version["qr_payload"]}
    keys = {one.job.kind: one.job.idempotency_key for one in drained.attempts}
    assert keys["SIGN_PASSPORT"] == f"sign-{version['id']}"
    assert keys["GENERATE_QR"] == f"qr-{version['id']}"


def test_a_passport_needs_a_sealed_snapshot(runner: SyncHarness, world: World) -> None:
    """BPC-017, BPC-052, TC-P4-02: SNAPSHOT_NOT_READY, nothing written."""
    snapshot_id = snapshots.create(world.services, world.tenant, "open")
    passports.compile_version(
        world.services, world.tenant, world.passport(), snapshot_id, world.rules(published=True)
    )

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "SNAPSHOT_NOT_READY")
    assert rows(world, passport_versions) == []


def test_a_passport_needs_published_rules(runner: SyncHarness, world: World) -> None:
    """BPC-017, BPC-052, TC-P4-03: RULE_PKG_NOT_PUBLISHED, nothing written."""
    passports.compile_version(world.services, world.tenant, world.passport(), world.sealed(), world.rules())

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "RULE_PKG_NOT_PUBLISHED")
    assert rows(world, passport_versions) == []


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(payload=10), "PAYLOAD_TOO_LARGE"),
        (Limits(proof=10), "PROOF_TOO_LARGE"),
        (Limits(receipt=10), "RECEIPT_TOO_LARGE"),
    ],
)
def test_nothing_above_a_limit_is_stored(
    runner: SyncHarness, world: World, limits: Limits, code: str
) -> None:
    """BPC-023, BPC-052, TC-P4-05, TC-P4-06, TC-P4-07: the limits, by the environment."""
    world.services.settings = Settings(**{**world.services.settings.__dict__, "limits": limits})
    world.compile()

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, code)
    assert rows(world, passport_versions) == []


def test_a_rule_that_fails_names_itself(runner: SyncHarness, world: World) -> None:
    """BPC-025, BPC-052: COMPILE_ERROR with the rule's name and place."""
    heavy = SMALL_RULES + 'rule heavy: require battery.mass_kg > 900 kg else "too light"\n'
    passports.compile_version(
        world.services, world.tenant, world.passport(), world.sealed(), world.rules(heavy, published=True)
    )

    error = failed(runner.drain())

    assert error["code"] == "COMPILE_ERROR"
    [told] = world.events("COMPILE_FAILED")
    assert (told.aggregate_type, parse(told.payload_canonical)["code"]) == ("Passport", "COMPILE_ERROR")
    assert "rules:8:13: rule heavy: too light" in error["message"]


@pytest.mark.parametrize(
    ("key", "code"),
    [(None, "SIGNING_KEY_MISSING"), ("not base64!", "INVALID_SIGNING_KEY"), ("AAAA", "INVALID_SIGNING_KEY")],
)
def test_a_version_without_a_usable_key_stays_compiling(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch, key: str | None, code: str
) -> None:
    """BPC-026, BPC-052, TC-P5-03, TC-P5-04: no key, bad key; mended, the dead letter is retried and signs."""
    if key is None:
        monkeypatch.delenv(KEY_VARIABLE)
    else:
        monkeypatch.setenv(KEY_VARIABLE, key)
    world.compile()

    drained = runner.drain()

    error = failed(drained)
    assert (error["attempts"], error["code"]) == (1, code)
    assert rows(world, passport_versions)[0]["status"] == "COMPILING"

    monkeypatch.setenv(KEY_VARIABLE, base64.b64encode(bytes(32)).decode())
    [dead] = [one.job for one in drained.attempts if one.job.state is State.DEAD]
    world.services.app.sync.dead_letters.retry(dead.id, by="ada", reason="the key is there now")
    runner.drain()

    assert rows(world, passport_versions)[0]["status"] == "SIGNED"


def test_the_private_key_is_in_no_row_no_event_and_no_log(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """BPC-028: a whole passport is made, and one that could not be signed; the key is in none of what is left."""
    seed = bytes(range(100, 132))
    written = base64.b64encode(seed).decode()
    monkeypatch.setenv(KEY_VARIABLE, written)
    with caplog.at_level("DEBUG"):
        world.full()
        runner.drain()
        monkeypatch.setenv(KEY_VARIABLE, written[:-4])
        passports.compile_version(
            world.services, world.tenant, world.passport(), world.sealed(), world.rules(published=True)
        )
        jobs = [job_view(world.services, one.job) for one in runner.drain().attempts]
    left = [caplog.text, repr(jobs)]
    with world.services.database.read() as connection:
        for table in metadata.tables.values():
            left += [repr(row) for row in connection.execute(table.select())]
    assert len(rows(world, passport_versions)) == 2
    assert any("INVALID_SIGNING_KEY" in text for text in left)
    for secret in (written, written[:-4], seed.hex(), repr(seed)[2:-1]):
        assert not [text for text in left if secret in text]


def test_a_receipt_is_not_signed_with_another_key(
    runner: SyncHarness, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BPC-029, BPC-052: a version compiled for one key id is not signed with another; it stays COMPILING."""
    monkeypatch.delenv(KEY_VARIABLE)
    world.compile()
    [dead] = [one.job for one in runner.drain().attempts if one.job.state is State.DEAD]
    monkeypatch.setenv(KEY_VARIABLE, base64.b64encode(bytes(32)).decode())
    world.services.settings = Settings(**{**world.services.settings.__dict__, "signing_key_id": "test-key-2"})

    world.services.app.sync.dead_letters.retry(dead.id, by="ada", reason="another key")
    error = failed(runner.drain())

    assert error["code"] == "INVALID_SIGNING_KEY"
    assert "names the key test-key-1, the signing key is test-key-2" in error["message"]
    assert rows(world, passport_versions)[0]["status"] == "COMPILING"


def test_only_a_version_in_the_right_status_is_signed_or_drawn(runner: SyncHarness, world: World) -> None:
    """BPC-026, BPC-030, BPC-052: INVALID_PASSPORT_STATUS, unchanged."""
    world.compile()
    runner.drain()
    [before] = rows(world, passport_versions)
    world.services.enqueue("SIGN_PASSPORT", world.tenant, passport_version_id=before["id"])

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "INVALID_PASSPORT_STATUS")
    assert "is SIGNED; it must be COMPILING" in error["message"]
    assert rows(world, passport_versions) == [before]


@pytest.mark.parametrize(
    ("cases", "factor", "run", "status"),
    [(500, 1, "PASSED", "VALIDATED"), (499, 1, "FAILED", "DRAFT"), (600, 2, "FAILED", "DRAFT")],
)
def test_rule_tests_validate_a_draft(
    runner: SyncHarness, world: World, cases: int, factor: int, run: str, status: str
) -> None:
    """BPC-034, TC-P7-01, TC-P7-02, TC-P7-03, TC-P7-04, TC-P7-05: 499, 500, failing; the job itself succeeds."""
    version_id = world.rules(cases=cases, factor=factor)
    rules.run_tests(world.services, world.tenant, version_id, seed=7)

    assert runner.drain().completed == 1

    [stored] = rows(world, rule_tests_runs)
    assert (stored["seed"], stored["total_cases"], stored["status"]) == (7, cases, run)
    assert (stored["first_failure"] is None) == (factor == 1)
    assert rows(world, rule_package_versions)[0]["status"] == status
    told = parse(world.events("TESTS_RUN")[0].payload_canonical)
    assert told == {
        "run_id": stored["id"],
        "status": run,
        "total_cases": cases,
        "passed": stored["passed_count"],
    }


def test_a_published_version_is_not_moved_by_tests(runner: SyncHarness, world: World) -> None:
    """BPC-034, BPC-035: a failing run demotes VALIDATED, never PUBLISHED."""
    published = world.rules(cases=10, published=True)
    rules.run_tests(world.services, world.tenant, published, seed=1)
    runner.drain()
    assert rows(world, rule_package_versions)[0]["status"] == "PUBLISHED"


def test_a_job_of_another_tenant_finds_nothing(runner: SyncHarness, world: World) -> None:
    """BPC-006: ids of another tenant are not found, the job fails, no row is written."""
    world.compile()
    runner.drain()
    [version] = rows(world, passport_versions)
    world.services.enqueue("SIGN_PASSPORT", "somebody else", passport_version_id=version["id"])

    error = failed(runner.drain())

    assert (error["attempts"], error["code"]) == (1, "NOT_FOUND")
    assert rows(world, passport_versions) == [version]


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("PARSE_FACTS", {}),
        ("PARSE_FACTS", {"document_version_id": "not a uuid"}),
        ("COMPILE_PASSPORT", {"passport_id": str(uuid4())}),
        ("RUN_RULE_TESTS", {"rule_package_version_id": str(uuid4()), "seed": "many"}),
        ("EXPORT_PASSPORT", {"passport_version_id": str(uuid4()), "format": "DOCX"}),
    ],
)
def test_arguments_are_checked_when_a_job_is_stored(
    runner: SyncHarness, world: World, kind: str, arguments: dict[str, Any]
) -> None:
    """BPC-053: missing and malformed inputs are refused."""
    with pytest.raises(InvalidArguments):
        world.services.enqueue(kind, world.tenant, **arguments)


def test_a_job_is_shown_in_the_documents_words(runner: SyncHarness, world: World) -> None:
    """BPC-001, BPC-004: fields and status words; last_error is JSON with the code."""
    world.upload(b"{}")
    drained = runner.drain()
    view = job_view(world.services, drained.attempts[0].job)
    assert view["status"] == "FAILED"
    assert view["type"] == "PARSE_FACTS"
    assert view["attempts"] == 1
    assert view["max_attempts"] == 5
    assert view["last_error"]["code"] == "DOCUMENT_REJECTED"


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_dead_worker_leaves_one_of_everything(runner: SyncHarness, world: World, when: str) -> None:
    """BPC-005, BPC-019: whenever the compiling worker dies: one version, one signature, one code, one event each."""
    world.compile()
    runner.crash_worker(world.services.kinds["COMPILE_PASSPORT"], when=when)
    runner.travel("2m")

    runner.drain()

    assert len(rows(world, passport_versions)) == 1
    for event_type in ("PASSPORT_COMPILED", "PASSPORT_SIGNED", "QR_GENERATED"):
        assert len(world.events(event_type)) == 1


def test_signing_comes_before_drawing_and_both_before_the_rest(runner: SyncHarness, world: World) -> None:
    """BPC-050: priorities are strict; 1 signs, 2 draws, 3 reads and compiles, 4 delivers, 5 tests and exports."""
    identifier = str(uuid4())
    services = world.services
    services.enqueue("RUN_RULE_TESTS", world.tenant, rule_package_version_id=identifier, seed=1)
    services.enqueue("DELIVER_WEBHOOK", world.tenant, webhook_delivery_id=identifier)
    services.enqueue("PARSE_FACTS", world.tenant, document_version_id=identifier)
    services.enqueue("GENERATE_QR", world.tenant, passport_version_id=identifier)
    services.enqueue("SIGN_PASSPORT", world.tenant, passport_version_id=identifier)

    ran = [one.job.kind for one in runner.drain().attempts]

    assert ran == ["SIGN_PASSPORT", "GENERATE_QR", "PARSE_FACTS", "DELIVER_WEBHOOK", "RUN_RULE_TESTS"]
