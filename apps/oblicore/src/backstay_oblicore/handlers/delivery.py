"""DELIVER_NOTIFICATION, SEND_DIGESTS, SEND_DIGEST: letting messages leave, one recipient a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from html import escape
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from backstay import Backoff, Context, Hopeless, Snooze
from backstay_oblicore.domain.errors import MailUnavailable
from backstay_oblicore.domain.preferences import from_stored
from backstay_oblicore.profile import DELIVERY_FOR
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications
from backstay_oblicore.store.database import from_json
from backstay_parts.mail import Mail, MailRefused
from backstay_parts.sms import SmsRefused

DELIVERY: dict[str, Any] = {
    "queue": "notification-delivery",
    "max_attempts": 500,
    "backoff": Backoff("30s", cap="15m"),
    "deadline_after": DELIVERY_FOR,
    "timeout": "60s",
}
DIGEST_HOUR = 8
LONGEST_SMS = 160


def register(services: Services) -> Any:
    """Register the delivery of one loud notification."""

    @services.app.job(kind="DELIVER_NOTIFICATION", priority=1, **DELIVERY)
    async def deliver_notification(ctx: Context, notification_id: UUID) -> dict[str, Any]:
        async with services.database.as_service() as connection:
            row = await notifications.to_deliver(connection, notification_id)
        if row is None:
            return {"reply": "sent before"}
        wait = quiet_for(row, now=ctx.now)
        if wait:
            raise Snooze(wait)
        try:
            reply = await _send(services, row, now=ctx.now)
        except (MailRefused, SmsRefused) as error:
            if error.is_temporary:
                raise MailUnavailable(str(error)) from error
            await _give_up(services, [row["id"]], str(error), now=ctx.now)
            raise Hopeless(str(error)) from error
        async with services.closing(ctx) as closing:
            await notifications.mark(closing.connection, [row["id"]], status="SENT", reply=reply, now=ctx.now)
            closing.result["reply"] = reply
        return {}

    return deliver_notification


def register_digest(services: Services) -> Any:
    """Register the day's one mail to one reader."""

    @services.app.job(kind="SEND_DIGEST", **DELIVERY)
    async def send_digest(
        ctx: Context, user_id: UUID, day: date, reference_time: datetime | None = None
    ) -> dict[str, Any]:
        async with services.database.as_service() as connection:
            rows = await notifications.digest_rows(connection, user_id, before=ctx.now)
        if not rows:
            return {"reply": "nothing to send"}
        ids = [row["id"] for row in rows]
        mail = digest_mail(rows, day=day, public_url=services.settings.public_url)
        try:
            reply = await services.mail.send(mail, now=ctx.now)
        except MailRefused as error:
            if error.is_temporary:
                raise MailUnavailable(str(error)) from error
            await _give_up(services, ids, str(error), now=ctx.now)
            raise Hopeless(str(error)) from error
        async with services.closing(ctx) as closing:
            await notifications.mark(closing.connection, ids, status="SENT", reply=reply, now=ctx.now)
            await closing.connection.execute(
                "UPDATE oblicore.notifications SET digest_on = $2 WHERE id = ANY($1)", ids, day
            )
        return {}

    return send_digest


def register_digests(services: Services) -> Any:
    """Register the hourly look at whose eight o'clock it is."""

    @services.app.job(kind="SEND_DIGESTS", queue="notification-delivery")
    async def send_digests(ctx: Context, reference_time: datetime | None = None) -> dict[str, Any]:
        async with services.closing(ctx) as closing:
            for reader in await notifications.digest_readers(closing.connection, before=ctx.now):
                local = ctx.now.astimezone(ZoneInfo(reader["zone"]))
                if local.hour < DIGEST_HOUR:
                    continue
                day = local.date()
                if await notifications.digest_was_sent(closing.connection, reader["user_id"], day):
                    continue
                closing.then(
                    "SEND_DIGEST",
                    options={"unique": f"digest {reader['user_id']} {day}"},
                    user_id=reader["user_id"],
                    day=day,
                    reference_time=ctx.now,
                )
            closing.result["readers"] = len(closing.jobs)
        return {}

    return send_digests


def quiet_for(row: Mapping[str, Any], *, now: datetime) -> timedelta:
    """Return how long a text message waits for the end of its reader's quiet hours."""
    if row["channel"] != "SMS":
        return timedelta(0)
    chosen = from_stored(from_json(row["notification_preferences"]))
    return chosen.quiet_for(now.astimezone(ZoneInfo(row["zone"])))


async def _send(services: Services, row: Mapping[str, Any], *, now: datetime) -> str:
    if row["channel"] == "SMS":
        if services.sms is None:
            raise Hopeless(
                "no SMS provider is set: OBLICORE_SMS_URL, OBLICORE_SMS_ACCOUNT, OBLICORE_SMS_TOKEN"
            )
        if not row["phone"]:
            await _give_up(services, [row["id"]], "no phone number", now=now)
            raise Hopeless("the reader has no phone number")
        return await services.sms.send(row["phone"], sms_text(row["title"]))
    if row["channel"] == "PUSH":
        raise Hopeless("push messages need a provider, and none can be set yet")
    return await services.mail.send(alert_mail(row, public_url=services.settings.public_url), now=now)


async def _give_up(services: Services, ids: Sequence[UUID], reason: str, *, now: datetime) -> None:
    async with services.database.as_service() as connection:
        await notifications.mark(connection, ids, status="FAILED", reply=reason, now=now)


def alert_mail(row: Mapping[str, Any], *, public_url: str) -> Mail:
    """Write one loud mail as text and HTML; its id is the note's, so that a second copy can be recognised."""
    link = f"{public_url}{row['action_url']}" if row["action_url"] else public_url
    text = f"{row['message']}\n\n{link}\n"
    html = f'<p>{escape(row["message"])}</p><p><a href="{escape(link)}">{escape(link)}</a></p>'
    return Mail(row["email"], one_line(row["title"]), text, html, message_id=f"<{row['id']}@oblicore>")


def digest_mail(rows: Sequence[Mapping[str, Any]], *, day: date, public_url: str) -> Mail:
    """Gather a day's quiet notes into one mail."""
    lines, items = [], []
    for row in rows:
        link = f"{public_url}{row['action_url']}" if row["action_url"] else public_url
        lines.append(f"[{row['severity']}] {row['title']}\n{row['message']}\n{link}\n")
        items.append(
            f"<li><b>{escape(row['title'])}</b><br>{escape(row['message'])}<br>"
            f'<a href="{escape(link)}">{escape(link)}</a></li>'
        )
    count = len(rows)
    subject = f"{count} note{'s' * (count > 1)} for {day:%-d %B %Y}"
    intro = f"What came up by {day:%-d %B %Y}:"
    html = f"<p>{intro}</p><ul>{''.join(items)}</ul>"
    ident = f"<digest-{rows[0]['id']}-{day}@oblicore>"
    return Mail(rows[0]["email"], subject, f"{intro}\n\n" + "\n".join(lines), html, message_id=ident)


def sms_text(title: str) -> str:
    """Cut a text message to what one can hold."""
    line = one_line(title)
    return line if len(line) <= LONGEST_SMS else line[: LONGEST_SMS - 1].rstrip() + "…"


def one_line(text: str) -> str:
    """Keep line breaks and control characters out of headers."""
    return " ".join(text.split())
