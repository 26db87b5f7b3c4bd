"""The databases themselves refuse what must never change; chains hold beside each other."""

from __future__ import annotations

import asyncio
import re
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from passport_world import World
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from backstay.testing import PrivatePostgres, SyncHarness
from backstay_passport.actions import audit, passports, rules, snapshots
from backstay_passport.domain.battery import UnitStatus
from backstay_passport.domain.errors import (
    EventVersionConflict,
    InvalidInput,
    InvalidPassportStatus,
    InvalidRuleStatus,
    InvalidSnapshotState,
    NotFound,
)
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.signing import key_from_seed
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.store import access, batteries, events
from backstay_passport.store import passports as passport_store
from backstay_passport.store.tables import metadata, tree_heads
from backstay_passport.types_of_jobs import waiting_jobs


def refuse(world: World, statement: str) -> str:
    """Run a statement that must be refused and return why."""
    qualified = statement if world.services.database.is_postgres else statement.replace("passport.", "")
    with pytest.raises(DBAPIError) as caught, world.services.database.begin() as connection:
        connection.execute(text(qualified))
    return str(caught.value.orig)


@pytest.fixture
def made(runner: SyncHarness, world: World) -> World:
    """A world with a signed version, its facts, events and rules."""
    world.compile()
    runner.drain()
    return world


def test_the_bytes_of_a_version_never_change(made: World) -> None:
    """BPC-002: canonical columns and hashes are refused, whoever asks."""
    for column in (
        "payload_canonical",
        "proof_canonical",
        "receipt_canonical",
        "payload_hash",
        "receipt_hash",
    ):
        found = refuse(made, f"UPDATE passport.passport_versions SET {column} = {_bytes(made)}")
        assert "never change" in found
    assert "never deleted" in refuse(made, "DELETE FROM passport.passport_versions")


def _bytes(world: World) -> str:
    return "'\\x00'::bytea" if world.services.database.is_postgres else "x'00'"


def test_signature_and_code_are_written_once(made: World) -> None:
    """BPC-002: NULL → value, then never again."""
    assert "written once" in refuse(made, f"UPDATE passport.passport_versions SET signature = {_bytes(made)}")
    assert "written once" in refuse(made, "UPDATE passport.passport_versions SET qr_payload = 'x'")
    assert "written once" in refuse(made, "UPDATE passport.passport_versions SET signing_key_id = 'x'")


@pytest.mark.parametrize("status", ["COMPILING", "SUPERSEDED"])
def test_a_version_moves_only_along_its_arrows(made: World, status: str) -> None:
    """BPC-002: the database knows the arrows too."""
    assert "no such change" in refuse(made, f"UPDATE passport.passport_versions SET status = '{status}'")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE passport.events SET event_type = 'X'", "only appended"),
        ("DELETE FROM passport.events", "only appended"),
        ("UPDATE passport.facts SET fact_key = 'X'", "never change"),
        ("DELETE FROM passport.facts", "never deleted"),
        ("DELETE FROM passport.snapshot_items", "BUILDING only"),
        ("UPDATE passport.data_snapshots SET name = 'X'", "never changes"),
        ("DELETE FROM passport.snapshot_secrets", "never changes"),
        ("UPDATE passport.rule_package_versions SET rules_source = 'X'", "DRAFT only"),
        ("UPDATE passport.rule_package_versions SET status = 'DRAFT'", "no such change"),
        ("UPDATE passport.document_versions SET kind = 'PCF'", "never changes"),
    ],
)
def test_what_is_fixed_stays_fixed(made: World, statement: str, reason: str) -> None:
    """BPC-002, BPC-043: facts, events, sealed snapshots, published rules, documents."""
    assert reason in refuse(made, statement)


def test_nothing_is_added_to_a_sealed_snapshot(made: World) -> None:
    """BPC-002, BPC-016: the database and the action refuse it."""
    found = refuse(
        made,
        "INSERT INTO passport.snapshot_items (snapshot_id, fact_id) "
        "SELECT data_snapshots.id, 'x' FROM passport.data_snapshots",
    )
    assert "BUILDING only" in found
    with made.services.database.read() as connection:
        snapshot_id = connection.execute(
            text(
                "SELECT id FROM "
                + ("passport." if made.services.database.is_postgres else "")
                + "data_snapshots"
            )
        ).scalar_one()
    with pytest.raises(InvalidSnapshotState):
        snapshots.add_facts(made.services, made.tenant, snapshot_id, [])
    with pytest.raises(InvalidSnapshotState):
        snapshots.seal(made.services, made.tenant, snapshot_id)


KEPT = (
    "events",
    "facts",
    "passport_versions",
    "snapshot_items",
    "snapshot_secrets",
    "data_snapshots",
    "rule_package_versions",
    "document_versions",
    "tree_heads",
    "signing_keys",
)


def test_tables_cannot_be_emptied(made: World) -> None:
    """BPC-043: TRUNCATE is refused where it exists, and a DELETE of all rows everywhere."""
    audit.sign_head(made.services, made.tenant)
    for table in KEPT:
        if made.services.database.is_postgres:
            assert "never emptied" in refuse(made, f"TRUNCATE passport.{table} CASCADE"), table
        assert re.search("never|only", refuse(made, f"DELETE FROM passport.{table}")), table


def test_nothing_begins_where_it_should_end(made: World) -> None:
    """BPC-002: a row that is inserted as signed, sealed or published is refused, whoever inserts it."""
    for table, status in {
        "passport_versions": "ACTIVE",
        "data_snapshots": "SEALED",
        "rule_package_versions": "PUBLISHED",
    }.items():
        changed = {"id": "'forged'", "job_id": "'forged'", "version": "99", "status": f"'{status}'"}
        names = [one.name for one in metadata.tables[f"passport.{table}"].columns]
        values = ", ".join(changed.get(name, name) for name in names)
        insert = (
            f"INSERT INTO passport.{table} ({', '.join(names)}) SELECT {values} FROM passport.{table} LIMIT 1"
        )
        assert "begins as" in refuse(made, insert), table


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE passport.passport_versions SET payload_canonical = ''",
        "UPDATE passport.passport_versions SET receipt_hash = ''",
        "UPDATE passport.passport_versions SET signature = ''",
        "UPDATE passport.events SET payload_canonical = ''",
        "DELETE FROM passport.events",
        "TRUNCATE passport.events CASCADE",
        "TRUNCATE passport.passport_versions CASCADE",
        "INSERT INTO passport.snapshot_items SELECT s.id, f.id FROM passport.data_snapshots s, passport.facts f",
        "UPDATE passport.rule_package_versions SET rules_source = ''",
    ],
)
def test_the_applications_own_role_is_refused_by_psql(
    postgres: PrivatePostgres, kept: str, statement: str
) -> None:
    """BPC-002, BPC-043: with every right on the tables, by another program; only who owns them could."""
    command = ["psql", "-X", "-v", "ON_ERROR_STOP=1", "-U", "passport_app", "-h", "127.0.0.1"]
    where = ["-p", str(postgres.port), "-d", kept]
    done = subprocess.run([*command, *where, "-c", statement], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert re.search("never|only|once", done.stderr), done.stderr


@pytest.fixture(scope="module")
def kept(postgres: PrivatePostgres) -> str:
    """A database with a signed version, and a role that may do everything to its tables."""
    name = "kept"
    postgres.create_database(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")
        services = build(Settings(database_url=postgres.url(name)))
        services.migrate()
        World(services).compile()

        async def work() -> None:
            async with services.app.working(concurrency=1):
                while await asyncio.to_thread(waiting_jobs, services):
                    await asyncio.sleep(0.05)

        asyncio.run(work())
        with services.database.begin() as connection:
            connection.execute(text("CREATE ROLE passport_app LOGIN"))
            connection.execute(text("GRANT USAGE ON SCHEMA passport TO passport_app"))
            connection.execute(text("GRANT ALL ON ALL TABLES IN SCHEMA passport TO passport_app"))
        services.close()
    return name


def test_migrations_make_the_tables_that_the_code_knows(world: World) -> None:
    """BPC-002: every column of the code is in the database, and a second run does nothing."""
    assert world.services.migrate() == []
    with world.services.database.read() as connection:
        for table in metadata.tables.values():
            connection.execute(table.select().limit(0)).keys()


def test_writers_beside_each_other_make_one_chain(runner: SyncHarness, world: World) -> None:
    """BPC-043: ten writers, one gap-free chain; who was late tries again."""

    def write(number: int) -> None:
        while True:
            try:
                with world.services.database.begin() as connection:
                    new = NewEvent("Thing", "one", "TOLD", {"number": number})
                    events.append(connection, world.tenant, new)
                return
            except EventVersionConflict:
                continue

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(write, range(30)))

    count, problems = audit.verify_chains(world.services, world.tenant)
    assert (count, problems) == (30, [])


def test_a_signed_head_shows_what_is_gone(made: World) -> None:
    """BPC-043: a whole chain that disappears is noticed against the signed head."""
    audit.sign_head(made.services, made.tenant)
    assert audit.verify_chains(made.services, made.tenant)[1] == []
    prefix = "passport." if made.services.database.is_postgres else ""
    with made.services.database.begin() as connection:
        if prefix:
            connection.execute(text("ALTER TABLE passport.events DISABLE TRIGGER USER"))
        else:
            connection.execute(text("DROP TRIGGER events_kept"))
        connection.execute(text(f"DELETE FROM {prefix}events WHERE aggregate_type = 'DataSnapshot'"))
    assert any("now it is gone" in one for one in audit.verify_chains(made.services, made.tenant)[1])


def test_a_head_that_is_signed_anew_with_another_key_is_found(made: World) -> None:
    """BPC-043: who can rewrite rows has a key too; only the maker's keys count, and those the caller names."""
    forged = key_from_seed(bytes([7]) * 32, "test-key-1")
    audit.sign_head(made.services, made.tenant)
    own = made.services.settings.signing_key().public
    with made.services.database.begin() as connection:
        row = connection.execute(tree_heads.select()).mappings().one()
        again = {
            **row,
            "id": "forged",
            "signature": forged.sign(bytes(row["root"])),
            "public_key": forged.public,
        }
        connection.execute(tree_heads.insert().values(**again))

    for trusted in (None, [own]):
        _, problems = audit.verify_chains(made.services, made.tenant, trusted)
        assert problems == ["tree head forged: is signed by a key that is not trusted (test-key-1)"]


def test_heads_are_signed_by_a_job_and_all_of_them_are_checked(runner: SyncHarness, made: World) -> None:
    """BPC-043: also the first of more than five hundred."""
    for _ in range(3):
        made.services.kinds["SIGN_TREE_HEADS"].enqueue_sync()
    runner.drain()
    with made.services.database.begin() as connection:
        first, *rest = connection.execute(tree_heads.select()).mappings().all()
        many = [{**first, "id": f"{number:04}", "created_at": "9999"} for number in range(501)]
        connection.execute(tree_heads.insert(), many)
        oldest = {**first, "id": "0", "created_at": "0000", "root": bytes(32)}
        connection.execute(tree_heads.insert().values(**oldest))

    assert len(rest) == 2
    assert audit.verify_chains(made.services, made.tenant)[1] == ["tree head 0: was altered"]


def test_a_version_is_activated_superseded_and_revoked(runner: SyncHarness, world: World) -> None:
    """BPC-047: SIGNED → ACTIVE, the one before → SUPERSEDED, → REVOKED; everything else is refused."""
    passport_id, snapshot_id, rules_id = world.passport(), world.sealed(), world.rules(published=True)
    for _ in range(2):
        passports.compile_version(world.services, world.tenant, passport_id, snapshot_id, rules_id)
    runner.drain()
    with world.services.database.read() as connection:
        second, first = [
            row["id"] for row in passport_store.versions_of(connection, world.tenant, passport_id)
        ]

    assert passports.activate(world.services, world.tenant, first) is None
    assert passports.activate(world.services, world.tenant, second) == first
    with pytest.raises(InvalidPassportStatus):
        passports.activate(world.services, world.tenant, first)
    passports.revoke(world.services, world.tenant, second, "recalled")
    with pytest.raises(InvalidPassportStatus):
        passports.revoke(world.services, world.tenant, second, "again")

    with world.services.database.read() as connection:
        status = {
            row["id"]: row["status"]
            for row in passport_store.versions_of(connection, world.tenant, passport_id)
        }
    assert status == {first: "SUPERSEDED", second: "REVOKED"}
    assert len(world.events("PASSPORT_REVOKED")) == 1


def test_a_draft_is_not_published(runner: SyncHarness, world: World) -> None:
    """BPC-035: publishing needs a validated version."""
    with pytest.raises(InvalidRuleStatus, match="is DRAFT; it must be VALIDATED"):
        rules.publish(world.services, world.tenant, world.rules())


def _refused(act: Callable[[], object], match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        act()


def test_batteries_are_checked_and_have_lives(world: World) -> None:
    """BPC-020: serial numbers, GTIN, status arrows, lineage."""
    with world.services.database.begin() as connection:
        product_id = batteries.add_product(connection, world.tenant, sku="A", gtin="4006381333931", name="A")
        unit_id = batteries.add_unit(connection, world.tenant, product_id, {"serial": "S1"})
        _refused(
            lambda: batteries.add_unit(connection, world.tenant, product_id, {"serial": "S1"}), "already"
        )
        _refused(
            lambda: batteries.add_unit(connection, world.tenant, product_id, {"serial": "a b"}), "serial"
        )
        _refused(
            lambda: batteries.change_unit(connection, world.tenant, unit_id, {"status": "Broken"}),
            "no status",
        )
        batteries.change_unit(connection, world.tenant, unit_id, {"status": "waste"})
        new = batteries.new_life(
            connection, world.tenant, unit_id, status=UnitStatus.REPURPOSED, serial="S1-2", data={}
        )
        lives = [row["serial"] for row in batteries.lineage(connection, world.tenant, new)]
    assert lives == ["S1-2", "S1"]


def test_what_belongs_to_another_tenant_is_not_there(world: World) -> None:
    """BPC-006: every action looks among the tenant's own."""
    passport_id = world.passport()
    with pytest.raises(NotFound):
        passports.compile_version(world.services, "other", passport_id, world.sealed(), world.rules())


def test_workers_that_sign_first_at_the_same_time_keep_their_key_once(world: World) -> None:
    """BPC-029: whoever is second finds the key stored, and no job fails for it."""
    together = threading.Barrier(4)

    def sign(_: int) -> None:
        for number in range(20):
            together.wait(timeout=30)
            with world.services.database.begin() as connection:
                access.remember_key(connection, f"key-{number}", bytes(32))

    with ThreadPoolExecutor(4) as workers:
        list(workers.map(sign, range(4)))

    with world.services.database.begin() as connection:
        assert len(access.public_keys(connection)) == 20
        with pytest.raises(InvalidInput, match="belongs to another key"):
            access.remember_key(connection, "key-1", bytes([1]) * 32)
