"""Clean-up, audit archive and retention of forecasts, with a real object store."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy import insert
from watchpoint_rows import (
    CREATED,
    add,
    again,
    count,
    delivery,
    forecast_run,
    no_orphans,
    notification,
    one,
    organization,
    rows,
    watchpoint,
)

from backstay_parts.faults import Answer, FaultProxy, access_denied
from backstay_parts.servers import MotoServer
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.clients import s3_client
from backstay_watchpoint.outside.objects import S3Objects
from backstay_watchpoint.services import cleanup
from backstay_watchpoint.services.audit import archive_audit_logs, restore_audit_logs
from backstay_watchpoint.services.outside import StorageError
from backstay_watchpoint.services.retention import enforce_retention
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.store import runs, tables
from backstay_watchpoint.store.database import Database
from backstay_watchpoint.store.runs import NewRun, Trigger
from conftest import s3

SECOND = timedelta(seconds=1)


async def test_old_organisations_go_fifty_at_a_time(work: Work, database: Database, now: datetime) -> None:
    """WPT-045: 120 go as 50, 50 and 20; 30 days exactly are kept."""
    for number in range(120):
        await organization(database, id=f"o{number}", deleted_at=now - timedelta(days=31, minutes=number))
    kept = await organization(database, deleted_at=now - timedelta(days=30))
    alive = await organization(database)

    counts = [await cleanup.purge_soft_deleted_orgs(again(work)) for _ in range(4)]

    assert counts == [50, 50, 20, 0]
    assert {row["id"] for row in await rows(database, tables.organizations)} == {kept, alive}


async def test_a_run_that_was_killed_deletes_no_other_fifty(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-045, WPT-046: the same run goes on after a crash and has its limit once; the next run has its own."""
    async with database.transaction() as transaction:
        begun = await runs.begin(
            transaction, NewRun("cleanup_soft_deletes", "j", "w", Trigger.MANUAL, now, now)
        )
    assert isinstance(begun, int)
    owner = await organization(database)
    for number in range(60):
        await organization(database, deleted_at=now - timedelta(days=31, minutes=number))
        await watchpoint(database, owner, status="archived", archived_at=now - timedelta(days=91))

    async def run() -> None:
        await cleanup.cleanup_soft_deletes(Work(database, now, work.publisher, run_id=begun))

    await run()
    await run()  # as after kill -9: nothing of the first process is left but its rows

    assert await count(database, tables.organizations) == 11
    assert await count(database, tables.watchpoints) == 10
    assert await cleanup.cleanup_soft_deletes(again(work)) == 20


async def test_everything_of_an_organisation_goes_with_it(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-045, WPT-046: no orphans over all foreign keys, and nothing in tables without them but the audit log."""
    owner = await organization(database, deleted_at=now - timedelta(days=31))
    point = await watchpoint(database, owner)
    await delivery(database, await notification(database, owner, watchpoint_id=point))
    await add(
        database, tables.invites, organization_id=owner, email="a@b", expires_at=now + timedelta(days=1)
    )
    async with database.transaction() as transaction:
        for table, values in (
            (tables.evaluation_state, {"watchpoint_id": point, "has_triggered": False, "evaluated_at": now}),
            (tables.event_summaries, {"watchpoint_id": point, "report": {}, "created_at": now}),
            (
                tables.api_keys,
                {"key_hash": "h", "organization_id": owner, "source": "web", "created_at": now},
            ),
            (
                tables.idempotency_keys,
                {"organization_id": owner, "key": "k", "expires_at": now + timedelta(days=1)},
            ),
            (
                tables.sent_mails,
                {
                    "dedupe_id": "m",
                    "organization_id": owner,
                    "kind": "digest",
                    "message_id": "<m>",
                    "sent_at": now,
                },
            ),
        ):
            await transaction.execute(insert(table).values(**values))

    await cleanup.cleanup_soft_deletes(work)

    async with database.transaction() as transaction:
        assert await no_orphans(transaction) == []
    for table in (tables.watchpoints, tables.notifications, tables.notification_deliveries, tables.invites):
        assert await count(database, table) == 0
    assert await count(database, tables.api_keys) == 0
    named = [table for table in tables.metadata.sorted_tables if "organization_id" in table.c]
    kept = [table.name for table in named if await rows(database, table, organization_id=owner)]
    assert kept == []


async def test_archived_watchpoints_go_and_their_notifications_stay(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-046: ninety days; evaluation state goes along, notifications lose the reference."""
    owner = await organization(database)
    old = await watchpoint(database, owner, status="archived", archived_at=now - timedelta(days=90) - SECOND)
    kept = await watchpoint(database, owner, status="archived", archived_at=now - timedelta(days=90))
    told = await notification(database, owner, watchpoint_id=old, created_at=now)
    async with database.transaction() as transaction:
        await transaction.execute(
            insert(tables.evaluation_state).values(watchpoint_id=old, has_triggered=True, evaluated_at=now)
        )

    assert await cleanup.cleanup_soft_deletes(work) == 1

    assert [row["id"] for row in await rows(database, tables.watchpoints)] == [kept]
    assert await count(database, tables.evaluation_state) == 0
    assert (await one(database, tables.notifications, id=told))["watchpoint_id"] is None


@pytest.mark.parametrize(
    ("table", "column", "service", "keep"),
    [
        (tables.invites, "expires_at", cleanup.purge_expired_invites, timedelta()),
        (tables.idempotency_keys, "expires_at", cleanup.purge_expired_idempotency_keys, timedelta()),
        (tables.security_events, "attempted_at", cleanup.purge_security_events, timedelta(days=7)),
        (tables.notifications, "created_at", cleanup.purge_notifications, timedelta(days=365)),
    ],
)
async def test_what_is_past_its_time_goes(
    work: Work, database: Database, now: datetime, table: Any, column: str, service: Any, keep: timedelta
) -> None:
    """WPT-046, WPT-047, WPT-049: exactly at the limit it is kept, a second before it goes."""
    owner = await organization(database)
    for number, moment in enumerate((now - keep, now - keep - SECOND)):
        values: dict[str, Any] = {
            "invites": {"id": str(number), "organization_id": owner, "email": "a@b"},
            "idempotency_keys": {"key": str(number), "organization_id": owner},
            "security_events": {"id": str(number), "event_type": "login"},
            "notifications": {"id": str(number), "organization_id": owner, "payload": {}},
        }[table.name]
        async with database.transaction() as transaction:
            await transaction.execute(insert(table).values(**values, **{column: moment}))

    assert await service(work) == 1
    assert [row[column] for row in await rows(database, table)] == [now - keep]
    assert await service(again(work)) == 0


async def test_many_keys_go_in_batches(work: Work, database: Database, now: datetime) -> None:
    """WPT-049: more than one batch in one run."""
    owner = await organization(database)
    expired = [
        {"organization_id": owner, "key": f"k{number}", "expires_at": now - SECOND} for number in range(1201)
    ]
    async with database.transaction() as transaction:
        await transaction.execute(insert(tables.idempotency_keys), expired)

    assert await cleanup.purge_expired_idempotency_keys(work) == 1201
    assert work.items == 1201


async def test_two_organisations_may_use_the_same_key(
    work: Work, database: Database, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WPT-049, WPT-051: a key belongs to its organisation; every deleted one is counted and listed."""
    monkeypatch.setattr(cleanup.retention, "PURGE_BATCH", 1)
    owners = [await organization(database) for _ in range(3)]
    async with database.transaction() as transaction:
        for number, owner in enumerate(owners):
            expires_at = now - timedelta(hours=1) if number < 2 else now + timedelta(hours=1)
            values = {"organization_id": owner, "key": "same", "expires_at": expires_at}
            await transaction.execute(insert(tables.idempotency_keys).values(values))

    assert await cleanup.purge_expired_idempotency_keys(work) == 2

    assert {change.item_id for change in work.changes} == {f"{owner}/same" for owner in owners[:2]}
    assert (await one(database, tables.idempotency_keys))["organization_id"] == owners[2]


async def test_finished_deliveries_go_after_ninety_days(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-047: deferred and pending ones stay."""
    told = await notification(database, await organization(database), created_at=now - timedelta(days=100))
    old = now - timedelta(days=91)
    await delivery(database, told, status="sent", created_at=old)
    waiting = await delivery(database, told, status="deferred", created_at=old)

    assert await cleanup.purge_notifications(work) == 1
    assert [row["id"] for row in await rows(database, tables.notification_deliveries)] == [waiting]


async def test_the_platforms_own_records_go_after_a_year_and_a_month(
    work: Work, database: Database, now: datetime
) -> None:
    """WPT-047: runs with their changes, alerts, requests and sent mails; a run that goes on stays."""
    for age in (399, 401):
        at, name = now - timedelta(days=age), f"{age}"
        run = {"task": "verification", "job_id": name, "worker_id": "w", "trigger": "manual"}
        run |= {"is_dry_run": False, "is_forced": False, "report": {}, "started_at": at}
        alert = {"name": "x", "severity": "critical", "subject": "s", "message": "m", "created_at": at}
        request = {"task_type": "verification", "batch": "b", "requested_at": at}
        mail = {"organization_id": "o", "kind": "digest", "message_id": "<m>", "sent_at": at}
        async with database.transaction() as transaction:
            for table, values in (
                (tables.task_runs, {"id": age, "status": "success", **run}),
                (tables.task_runs, {"id": age + 1000, "status": "braked", **run, "job_id": f"b{age}"}),
                (
                    tables.run_changes,
                    {"run_id": age, "item": "i", "item_id": "1", "change": "c", "detail": {}},
                ),
                (tables.alerts, {"id": name, **alert}),
                (tables.provider_jobs, {"subject": name, **request}),
                (tables.sent_mails, {"dedupe_id": name, **mail}),
            ):
                await transaction.execute(insert(table).values(**values))

    assert await cleanup.purge_notifications(work) == 4

    assert {row["id"] for row in await rows(database, tables.task_runs)} == {399, 1399, 1401}
    assert [row["run_id"] for row in await rows(database, tables.run_changes)] == [399]
    for table in (tables.alerts, tables.provider_jobs, tables.sent_mails):
        assert await count(database, table) == 1


async def audit_rows(database: Database, number: int, at: datetime) -> list[dict[str, Any]]:
    made = [
        {
            "id": f"a{at:%Y%m%d}-{index:05d}",
            "organization_id": "org",
            "actor": "ann",
            "action": "watchpoint.created",
            "details": {"name": "Dächer", "n": index},
            "created_at": at + timedelta(seconds=index),
        }
        for index in range(number)
    ]
    async with database.transaction() as transaction:
        await transaction.execute(insert(tables.audit_logs), made)
    return made


async def test_audit_records_move_to_cold_storage_and_back(
    connected: Jobs, connected_work: Work, now: datetime
) -> None:
    """WPT-048: the restored object equals the rows; its class is GLACIER; young rows stay; who restored is told."""
    platform = connected.platform
    made = await audit_rows(platform.database, 7, now - timedelta(days=800))
    [young] = await audit_rows(platform.database, 1, now - timedelta(days=730))

    moved = await archive_audit_logs(connected_work, platform.objects, "watchpoint-archive", batch_size=5)

    assert moved == 7
    assert [row["id"] for row in await rows(platform.database, tables.audit_logs)] == [young["id"]]
    listed = s3(connected).list_objects_v2(Bucket="watchpoint-archive")["Contents"]
    assert [entry["StorageClass"] for entry in listed] == ["GLACIER", "GLACIER"]
    for entry in listed:
        await restore(connected, connected_work, entry["Key"])
    restored = await rows(platform.database, tables.audit_logs, action="watchpoint.created")
    assert sorted((row for row in restored if row != young), key=lambda row: row["id"]) == made
    told = await rows(platform.database, tables.audit_logs, action="audit.restored")
    assert {row["actor"] for row in told} == {"ann"}
    assert sorted(row["details"]["records"] for row in told) == [2, 5]
    assert await restore(connected, connected_work, listed[0]["Key"]) == 0


async def restore(jobs: Jobs, work: Work, key: str) -> int:
    objects = jobs.platform.objects
    return await restore_audit_logs(again(work), objects, "watchpoint-archive", key, by="ann")


async def test_a_failed_upload_deletes_nothing(
    connected: Jobs, connected_work: Work, cloud: MotoServer, now: datetime
) -> None:
    """WPT-048, WPT-055: the rows stay, the task fails; after the failure the same key holds all."""
    database = connected.platform.database
    await audit_rows(database, 6, now - timedelta(days=800))
    with FaultProxy.before(cloud.url) as proxy:
        client = s3_client(proxy.url, region="us-east-1", access_key="a", secret_key="b", attempts=1)
        proxy.next_faults([access_denied()])

        with pytest.raises(StorageError, match="AccessDenied"):
            await archive_audit_logs(connected_work, S3Objects(client), "watchpoint-archive")

        assert await count(database, tables.audit_logs) == 6
        assert await archive_audit_logs(again(connected_work), S3Objects(client), "watchpoint-archive") == 6


async def test_a_crash_after_the_upload_uses_the_same_key_again(
    connected: Jobs, connected_work: Work, now: datetime
) -> None:
    """WPT-048: repeated after a crash it is the same object, and nothing is lost."""
    platform = connected.platform
    made = await audit_rows(platform.database, 4, now - timedelta(days=800))

    class Crashing(S3Objects):
        async def put_cold(self, bucket: str, key: str, body: bytes) -> None:
            await super().put_cold(bucket, key, body)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await archive_audit_logs(connected_work, Crashing(s3(connected)), "watchpoint-archive")
    assert await count(platform.database, tables.audit_logs) == 4
    assert await archive_audit_logs(again(connected_work), platform.objects, "watchpoint-archive") == 4

    [entry] = s3(connected).list_objects_v2(Bucket="watchpoint-archive")["Contents"]
    await restore(connected, connected_work, entry["Key"])
    restored = await rows(platform.database, tables.audit_logs, action="watchpoint.created")
    assert sorted(restored, key=lambda row: row["id"]) == made


def put_many(jobs: Jobs, prefix: str, number: int) -> None:
    client = s3(jobs)

    def put(index: int) -> None:
        client.put_object(Bucket="watchpoint-forecasts", Key=f"{prefix}{index:05d}", Body=b"x")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(number)))


@pytest.mark.parametrize(("model", "days"), [("nowcast", 7), ("medium_range", 90)])
async def test_old_output_is_deleted(
    connected: Jobs, connected_work: Work, now: datetime, model: str, days: int
) -> None:
    """WPT-050: 6.9 and 7.1 days, 89 and 91 days; running and failed runs are not touched."""
    platform = connected.platform
    old = await forecast_run(platform.database, model, now - timedelta(days=days, hours=2), status="complete")
    young = await forecast_run(
        platform.database, model, now - timedelta(days=days, hours=-2), status="complete"
    )
    failed = await forecast_run(platform.database, model, now - timedelta(days=days + 9), status="failed")
    paths = {row["id"]: row["storage_path"] for row in await rows(platform.database, tables.forecast_runs)}
    for path in paths.values():
        put_many(connected, path, 2)

    assert await enforce_retention(connected_work, platform.objects, "watchpoint-forecasts") == 1

    states = {row["id"]: row["status"] for row in await rows(platform.database, tables.forecast_runs)}
    assert states == {old: "deleted", young: "complete", failed: "failed"}
    left = {
        entry["Key"] for entry in s3(connected).list_objects_v2(Bucket="watchpoint-forecasts")["Contents"]
    }
    assert not any(key.startswith(paths[old]) for key in left)
    assert len(left) == 4
    assert await enforce_retention(again(connected_work), platform.objects, "watchpoint-forecasts") == 0


async def test_a_partial_failure_keeps_the_run(
    connected: Jobs, connected_work: Work, cloud: MotoServer, now: datetime
) -> None:
    """WPT-050, WPT-055: deletions go by at most 1,000 keys; one that fails leaves the status as it was."""
    platform = connected.platform
    run = await forecast_run(platform.database, "nowcast", now - timedelta(days=8), status="complete")
    path = (await one(platform.database, tables.forecast_runs))["storage_path"]
    put_many(connected, path, 23)
    with FaultProxy.before(cloud.url) as proxy:
        client = s3_client(proxy.url, region="us-east-1", access_key="a", secret_key="b", attempts=1)
        deleted = 0

        def second_delete_is_denied(method: str, target: str) -> Any:
            nonlocal deleted
            deleted += method == "POST"
            return access_denied() if method == "POST" and deleted == 2 else None

        proxy.rule = second_delete_is_denied
        objects = S3Objects(client, page_size=10)
        delete = partial(enforce_retention, objects=objects, bucket="watchpoint-forecasts", batch_size=10)

        assert await delete(connected_work) == 0
        assert (await one(platform.database, tables.forecast_runs, id=run))["status"] == "complete"
        assert "AccessDenied" in connected_work.warnings[0]
        assert await delete(again(connected_work)) == 1

        pages = [request for request in proxy.log if "list-type" in request.query]
        assert len(pages) >= 3
    assert "Contents" not in s3(connected).list_objects_v2(Bucket="watchpoint-forecasts")


async def test_an_object_that_the_store_keeps_keeps_the_run(
    connected: Jobs, connected_work: Work, cloud: MotoServer, now: datetime
) -> None:
    """WPT-050, WPT-055: the request succeeds and names a key that could not be deleted; the next day tries again."""
    platform = connected.platform
    run = await forecast_run(platform.database, "nowcast", now - timedelta(days=8), status="complete")
    path = (await one(platform.database, tables.forecast_runs))["storage_path"]
    put_many(connected, path, 3)
    error = f"<Error><Key>{path}00001</Key><Code>InternalError</Code><Message>later</Message></Error>"
    body = f'<DeleteResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{error}</DeleteResult>'.encode()
    with FaultProxy.before(cloud.url) as proxy:
        client = s3_client(proxy.url, region="us-east-1", access_key="a", secret_key="b", attempts=1)
        kept = Answer(200, body, (("Content-Type", "application/xml"),))
        proxy.rule = lambda method, target: kept if method == "POST" else None

        assert await enforce_retention(connected_work, S3Objects(client), "watchpoint-forecasts") == 0

    assert (await one(platform.database, tables.forecast_runs, id=run))["status"] == "complete"
    assert "1 of 3 objects could not be deleted" in connected_work.warnings[0]
    later = again(connected_work, days=1)
    assert await enforce_retention(later, platform.objects, "watchpoint-forecasts") == 1


async def test_more_than_a_thousand_keys_at_once_are_refused(connected: Jobs) -> None:
    """WPT-050: what S3 would refuse is not sent."""
    objects = S3Objects(s3(connected))

    with pytest.raises(ValueError, match="at most 1000 objects"):
        await objects.delete_many("watchpoint-forecasts", [str(number) for number in range(1001)])


@pytest.mark.prove
async def test_2500_objects_go_in_three_requests(
    connected: Jobs, connected_work: Work, cloud: MotoServer, now: datetime
) -> None:
    """WPT-050: 2,500 objects are deleted by requests of at most 1,000 keys."""
    platform = connected.platform
    await forecast_run(platform.database, "nowcast", now - timedelta(days=8), status="complete")
    put_many(connected, (await one(platform.database, tables.forecast_runs))["storage_path"], 2500)
    with FaultProxy.before(cloud.url) as proxy:
        client = s3_client(proxy.url, region="us-east-1", access_key="a", secret_key="b", timeout=60)

        assert await enforce_retention(connected_work, S3Objects(client), "watchpoint-forecasts") == 1

        assert len([request for request in proxy.log if request.method == "POST"]) == 3


async def test_a_trial_deletes_nothing_and_counts_the_same(
    work: Work, database: Database, jobs: Jobs, now: datetime
) -> None:
    """WPT-045: the dry run's count is the real run's, and nothing is changed."""
    for _ in range(7):
        await organization(database, deleted_at=now - timedelta(days=40))
    await add(
        database,
        tables.invites,
        organization_id=await organization(database),
        email="a@b",
        expires_at=CREATED,
    )
    trial = Work(database, now, jobs.publisher, is_dry_run=True)

    async with trial.trial():
        tried = await cleanup.cleanup_soft_deletes(trial)

    assert await count(database, tables.organizations) == 8
    assert await count(database, tables.invites) == 1
    assert await cleanup.cleanup_soft_deletes(work) == tried == 8
