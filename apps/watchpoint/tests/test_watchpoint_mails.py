"""Messages through a real queue to a real mail server, each once."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from pathlib import Path

from watchpoint_rows import delivery, notification, one, organization, rows, watchpoint

from backstay import State
from backstay.records import JobFilter
from backstay_parts.mail import MailServer
from backstay_watchpoint.alarm import check_health
from backstay_watchpoint.consumer import Consumer
from backstay_watchpoint.domain.digests import next_digest
from backstay_watchpoint.handlers.patience import BACKOFF
from backstay_watchpoint.jobs import Jobs
from backstay_watchpoint.outside.clients import sqs_client
from backstay_watchpoint.services.archiver import archive_expired
from backstay_watchpoint.services.digests import trigger_digests
from backstay_watchpoint.services.notifications import requeue_deferred_notifications
from backstay_watchpoint.services.verification import check_canaries
from backstay_watchpoint.services.work import Work
from backstay_watchpoint.settings import Settings
from backstay_watchpoint.store import tables
from conftest import NOW

BERLIN = {"timezone": "Europe/Berlin", "digest": {"schedule": "13:00"}}


async def until_ended(jobs: Jobs, kind: str, number: int) -> None:
    async with asyncio.timeout(60):
        while True:
            found = (await jobs.platform.app.jobs.search(JobFilter(kind=kind), limit=100)).jobs
            if sum(job.state in (State.COMPLETED, State.DEAD) for job in found) >= number:
                return
            await asyncio.sleep(0.05)


async def post(jobs: Jobs, number: int) -> None:
    """Send what waits, consume it, and deliver it."""
    consumer = Consumer(jobs)
    async with jobs.platform.app.working(concurrency=4, queues=["publish", "mail"]):
        await until_ended(jobs, "publish_message", number)
        async with asyncio.timeout(60):
            taken = 0
            while taken < number:
                taken += sum([await consumer.take_once(queue, wait_seconds=1) for queue in consumer.queues])
        await until_ended(jobs, "deliver_message", number)


async def test_a_canary_that_is_wrong_is_mailed_to_the_operators_once(
    posting: Jobs, mail: MailServer, now: datetime
) -> None:
    """WPT-035: the alert arrives as a mail, also if the check is repeated after a crash."""
    database = posting.platform.database
    owner = await organization(database)
    metadata = {"system_role": "canary", "canary_expect_trigger": True}
    await watchpoint(database, owner, id="canary-1", metadata=metadata)
    for _ in range(2):
        await check_canaries(Work(database, now, posting.publisher))

    await post(posting, 1)

    [received] = mail.mails(to="ops@watchpoint.example")
    assert received.subject == "[critical] CanaryMissedTrigger"
    assert "roof (canary-1) should have triggered and did not" in received.text


async def test_each_message_becomes_one_mail_in_local_time(
    posting: Jobs, mail: MailServer, now: datetime
) -> None:
    """WPT-023, WPT-039, WPT-040: a digest, a summary and a deferred notification, each once."""
    database = posting.platform.database
    owner = await organization(
        database, id="acme", notification_preferences=BERLIN, next_digest_at=now - timedelta(minutes=40)
    )
    await watchpoint(database, owner, name="Harbour", time_window_end=now - timedelta(hours=2))
    await watchpoint(database, owner, name="Airport")
    told = await notification(database, owner, payload={"subject": "Storm", "text": "Wind above 90 km/h."})
    waiting = await delivery(database, told, next_retry_at=now)
    for service in (trigger_digests, archive_expired, requeue_deferred_notifications):
        await service(Work(database, now, posting.publisher))

    await post(posting, 3)

    mails = {found.subject: found for found in mail.mails(to="acme@example.org")}
    assert set(mails) == {"Your weather digest, Wed 18 Mar 2026", "Summary of Harbour", "Storm"}
    digest = mails["Your weather digest, Wed 18 Mar 2026"].text
    assert "Wed 18 Mar 2026 13:00 (Europe/Berlin)" in digest
    assert "Airport" in digest
    assert "Wind above 90 km/h." in mails["Storm"].text
    assert (await one(database, tables.notification_deliveries, id=waiting))["status"] == "sent"
    assert len(await rows(database, tables.event_summaries)) == 1
    assert {row["kind"] for row in await rows(database, tables.sent_mails)} == {
        "digest",
        "summary",
        "notification",
    }


ZONES = ("Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "America/New_York", "Pacific/Kiritimati")


async def test_digests_of_five_zones_are_mails_in_their_local_time(posting: Jobs, mail: MailServer) -> None:
    """WPT-023, WPT-024, WPT-026: two days of ticks around a change of clocks, one mail a local day and zone."""
    database, start = posting.platform.database, datetime.fromisoformat("2026-03-28T00:00:00+00:00")
    for zone in ZONES:
        preferences = {"timezone": zone, "digest": {"schedule": "08:30"}}
        due = next_digest(preferences, start).at
        name = zone.partition("/")[2]
        await organization(database, id=name, notification_preferences=preferences, next_digest_at=due)
    for hour in range(1, 49):
        await trigger_digests(Work(database, start + timedelta(hours=hour), posting.publisher))

    await post(posting, 2 * len(ZONES))

    for zone in ZONES:
        found = [received.text for received in mail.mails(to=f"{zone.partition('/')[2]}@example.org")]
        days = sorted(text.partition(", ")[2].partition("\n")[0] for text in found)
        assert len(set(days)) == 2, days
        assert all(day.endswith(f"08:30 ({zone})") for day in days), days
    berlin = "\n".join(received.text for received in mail.mails(to="Berlin@example.org"))
    assert "Sat 28 Mar 2026 08:30" in berlin
    assert "Sun 29 Mar 2026 08:30" in berlin  # an hour earlier in UTC


async def test_a_message_that_comes_twice_is_one_mail(posting: Jobs, mail: MailServer, now: datetime) -> None:
    """WPT-026: the queue delivers at least once; the deduplication id makes it one mail."""
    database = posting.platform.database
    owner = await organization(database, id="acme", notification_preferences=BERLIN, next_digest_at=now)
    await trigger_digests(Work(database, now, posting.publisher))
    [job] = (await posting.platform.app.jobs.search(JobFilter(kind="publish_message"))).jobs
    await posting.platform.queues.send("notification-queue", job.args["body"], job.args["dedupe_id"])

    await post(posting, 1)
    consumer = Consumer(posting)
    async with posting.platform.app.working(concurrency=2, queues=["mail"]):
        async with asyncio.timeout(60):
            while await posting.platform.queues.waiting("notification-queue"):
                await consumer.take_once("notification-queue", wait_seconds=1)

    assert len(mail.mails(to="acme@example.org")) == 1
    assert owner == "acme"


async def test_a_message_survives_a_consumer_that_dies(
    posting: Jobs, mail: MailServer, now: datetime
) -> None:
    """WPT-040: received but not deleted, it comes again and is delivered."""
    database = posting.platform.database
    await organization(database, id="acme", notification_preferences=BERLIN, next_digest_at=now)
    await trigger_digests(Work(database, now, posting.publisher))
    async with posting.platform.app.working(concurrency=2, queues=["publish"]):
        await until_ended(posting, "publish_message", 1)
    [lost] = await posting.platform.queues.receive(
        "notification-queue", wait_seconds=1
    )  # and never handed over

    await post(posting, 1)

    assert lost.receive_count == 1
    assert len(mail.mails(to="acme@example.org")) == 1


async def test_a_queue_that_is_away_delays_and_loses_nothing(posting: Jobs, now: datetime) -> None:
    """WPT-055: a publish that fails is retried by its job."""
    database = posting.platform.database
    await organization(database, id="acme", notification_preferences=BERLIN, next_digest_at=now)
    settings = posting.platform.settings
    client = sqs_client(
        settings.aws_endpoint_url,
        region=settings.aws_region,
        access_key=settings.aws_access_key,
        secret_key=settings.aws_secret_key,
    )
    client.delete_queue(QueueUrl=client.get_queue_url(QueueName=settings.notification_queue)["QueueUrl"])
    await trigger_digests(Work(database, now, posting.publisher))
    async with posting.platform.app.working(concurrency=1, queues=["publish"]):
        async with asyncio.timeout(60):
            while True:
                [job] = (await posting.platform.app.jobs.search(JobFilter(kind="publish_message"))).jobs
                if job.state is State.SCHEDULED and job.attempt == 1:
                    break
                await asyncio.sleep(0.05)

    policy = (await posting.platform.app.jobs.get(job.id)).max_attempts
    assert sum((BACKOFF.delay(retry, 0.5) for retry in range(1, policy)), timedelta()) > timedelta(days=2)
    assert len(await rows(database, tables.organizations, next_digest_at=now)) == 0


async def test_messages_that_cannot_be_read_do_not_block_the_queue(posting: Jobs, mail: MailServer) -> None:
    """WPT-055: they become dead letters, and what comes behind them is delivered."""
    database, queues = posting.platform.database, posting.platform.queues
    owner = await organization(database, id="acme")
    told = await notification(database, owner, payload={"subject": "Hail"})
    good = {
        "kind": "deliver",
        "organization_id": owner,
        "dedupe_id": "d1",
        "delivery_id": await delivery(database, told, status="pending"),
        "notification_id": told,
        "payload": {"subject": "Hail"},
    }
    for body in (
        {"surprise": 1},
        {**good, "kind": "unknown", "dedupe_id": "d2"},
        good,
        {**good, "payload": {}},
    ):
        await queues.send("notification-queue", body, "x")
    consumer = Consumer(posting)
    async with posting.platform.app.working(concurrency=1, queues=["mail"]):
        async with asyncio.timeout(60):
            while await queues.waiting("notification-queue"):
                await consumer.take_once("notification-queue", wait_seconds=1)
        await until_ended(posting, "deliver_message", 3)

    jobs = (await posting.platform.app.jobs.search(JobFilter(kind="deliver_message"))).jobs
    assert sorted(job.state for job in jobs) == [State.COMPLETED, State.DEAD, State.DEAD]
    assert [found.subject for found in mail.mails(to="acme@example.org")] == ["Hail"]


async def test_a_refused_recipient_bounces(posting: Jobs, mail: MailServer, now: datetime) -> None:
    """WPT-040: refused for good the delivery is bounced, and no further attempt is made."""
    database = posting.platform.database
    owner = await organization(database, id="acme")
    waiting = await delivery(database, await notification(database, owner), next_retry_at=now)
    mail.refuse("acme@example.org", 550)
    await requeue_deferred_notifications(Work(database, now, posting.publisher))

    await post(posting, 1)

    row = await one(database, tables.notification_deliveries, id=waiting)
    assert (row["status"], row["sent_at"]) == ("bounced", None)
    [job] = (await posting.platform.app.jobs.search(JobFilter(kind="deliver_message"))).jobs
    assert (job.state, job.attempt) == (State.DEAD, 1)


async def test_an_alarm_comes_as_a_mail_though_no_worker_runs(mail: MailServer, tmp_path: Path) -> None:
    """WPT-005: a cron line reads /health; what is late is mailed once, and again after it was over."""
    settings = Settings.from_environment(
        {"SMTP_HOST": mail.host, "SMTP_PORT": str(mail.port), "OPS_MAIL": "ops@x.org"}
    )
    state = tmp_path / "alarm"
    lines = {"text": "ok verification last success x\nLATE poll_data last success never\n", "status": 503}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = str(lines["text"]).encode()
        writer.write(f"HTTP/1.1 {lines['status']} x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/health"

    assert [await check_health(settings, url, state, NOW) for _ in range(2)] == [1, 1]
    [told] = mail.mails(to="ops@x.org")
    assert told.subject == "Late: poll_data"
    lines["text"] = "LATE poll_data last success never\nLATE sync_stripe last success x\n"
    assert await check_health(settings, url, state, NOW) == 1
    assert mail.mails(to="ops@x.org")[-1].subject == "Late: sync_stripe"
    lines["text"] = "LATE poll_data last success never\n"
    assert await check_health(settings, url, state, NOW) == 1
    assert len(mail.mails(to="ops@x.org")) == 2  # the other one is over; this one was told
    lines.update(text="ok poll_data last success x\n", status=200)
    assert await check_health(settings, url, state, NOW) == 0
    server.close()
    await server.wait_closed()
    assert await check_health(settings, url, state, NOW) == 1
    assert "health-page it does not answer" in mail.mails(to="ops@x.org")[-1].text


async def test_a_digest_without_news_is_sent_unless_it_is_not_wanted(
    posting: Jobs, mail: MailServer, now: datetime
) -> None:
    """WPT-023: `send_empty` of the preferences; with news both get theirs."""
    database = posting.platform.database
    quiet = {**BERLIN, "digest": {"schedule": "13:00", "send_empty": False}}
    for name, preferences in (("all", BERLIN), ("news", quiet), ("busy", quiet)):
        await organization(
            database,
            id=name,
            notification_preferences=preferences,
            next_digest_at=now - timedelta(minutes=40),
        )
    await notification(database, "busy", created_at=now - timedelta(hours=3))
    await trigger_digests(Work(database, now, posting.publisher))

    await post(posting, 3)

    counts = {name: len(mail.mails(to=f"{name}@example.org")) for name in ("all", "news", "busy")}
    assert counts == {"all": 1, "news": 0, "busy": 1}
