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
from backstay_oblicore.domain.icalendar import Event, calendar_of
from backstay_oblicore.domain.preferences import from_stored
from backstay_oblicore.profile import DELIVERY_FOR
from backstay_oblicore.services import Services
from backstay_oblicore.store import notifications
from backstay_oblicore.store.database import from_json
from backstay_parts.mail import Attachment, Mail, MailRefused
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
        status = "SENT"
        try:
            reply = await _send(services, row, now=ctx.now)
        except NoWay as reason:
            # Nothing went wrong, so nothing dies: the ledger says why this reader got no message.
            status, reply = "FAILED", str(reason)
        except (MailRefused, SmsRefused) as error:
            if error.is_temporary:
                raise MailUnavailable(str(error)) from error
            await _give_up(services, [row["id"]], str(error), now=ctx.now)
            raise Hopeless(str(error)) from error
        async with services.closing(ctx) as closing:
            await notifications.mark(closing.connection, [row["id"]], status=status, reply=reply, now=ctx.now)
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
            reply = (await services.mail.deliver(mail, now=ctx.now)).reply
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


class NoWay(Exception):
    """There is no way to this reader on this channel, and no later try would find one."""


async def _send(services: Services, row: Mapping[str, Any], *, now: datetime) -> str:
    """Send on the row's channel; return the server's reply."""
    if row["channel"] == "SMS":
        if services.sms is None:
            raise NoWay("no SMS provider is set: OBLICORE_SMS_URL, OBLICORE_SMS_ACCOUNT, OBLICORE_SMS_TOKEN")
        if not row["phone"]:
            raise NoWay("the reader has no phone number")
        return await services.sms.send(row["phone"], sms_text(row["title"]))
    if row["channel"] == "PUSH":
        raise NoWay("push messages need a provider, and none can be set yet")
    mail = alert_mail(row, public_url=services.settings.public_url)
    return (await services.mail.deliver(mail, now=now)).reply


async def _give_up(services: Services, ids: Sequence[UUID], reason: str, *, now: datetime) -> None:
    async with services.database.as_service() as connection:
        await notifications.mark(connection, ids, status="FAILED", reply=reason, now=now)


def alert_mail(row: Mapping[str, Any], *, public_url: str) -> Mail:
    """Write one loud mail as text and HTML; its id is the note's, so that a second copy can be recognised."""
    link = link_of(row, public_url)
    clause = clause_of(row)
    quoted = f"\n> {clause}\n" if clause else ""
    text = f"{row['message']}\n{quoted}\n{link}\n"
    html = f"<p>{escape(row['message'])}</p>{_quote(clause)}{_anchor(link)}"
    return Mail(
        row["email"],
        one_line(row["title"]),
        text,
        html,
        calendar_for([row], public_url),
        message_id=f"<{row['id']}@oblicore>",
    )


def digest_mail(rows: Sequence[Mapping[str, Any]], *, day: date, public_url: str) -> Mail:
    """Gather a day's quiet notes into one mail."""
    lines, items = [], []
    for row in rows:
        link, clause = link_of(row, public_url), clause_of(row)
        quoted = f"> {clause}\n" if clause else ""
        lines.append(f"[{row['severity']}] {row['title']}\n{row['message']}\n{quoted}{link}\n")
        items.append(
            f"<li><b>{escape(row['title'])}</b><br>{escape(row['message'])}{_quote(clause)}{_anchor(link)}</li>"
        )
    count = len(rows)
    subject = f"{count} note{'s' * (count > 1)} for {day:%-d %B %Y}"
    intro = f"What came up by {day:%-d %B %Y}:"
    return Mail(
        rows[0]["email"],
        subject,
        f"{intro}\n\n" + "\n".join(lines),
        f"<p>{intro}</p><ul>{''.join(items)}</ul>",
        calendar_for(rows, public_url),
        message_id=f"<digest-{rows[0]['id']}-{day}@oblicore>",
    )


def link_of(row: Mapping[str, Any], public_url: str) -> str:
    """Return where a note leads to."""
    return f"{public_url}{row['action_url']}" if row["action_url"] else public_url


def clause_of(row: Mapping[str, Any]) -> str:
    """Return the words of the permit that a note is about, in one line; empty if it is about none."""
    return one_line(str(from_json(row["metadata"]).get("clause") or ""))


def calendar_for(rows: Sequence[Mapping[str, Any]], public_url: str) -> tuple[Attachment, ...]:
    """Put the deadlines that notes are about into a calendar file; nothing if they are about none."""
    events = [
        Event(
            uid=f"deadline-{row['entity_id']}",
            day=date.fromisoformat(due),
            summary=one_line(row["title"]),
            url=link_of(row, public_url),
        )
        for row in rows
        if (due := from_json(row["metadata"]).get("due_date"))
    ]
    return (Attachment("deadlines.ics", calendar_of(events)),) if events else ()


def _quote(clause: str) -> str:
    return f"<blockquote>{escape(clause)}</blockquote>" if clause else ""


def _anchor(link: str) -> str:
    return f'<p><a href="{escape(link)}">{escape(link)}</a></p>'


def sms_text(title: str) -> str:
    """Cut a text message to what one can hold."""
    line = one_line(title)
    return line if len(line) <= LONGEST_SMS else line[: LONGEST_SMS - 1].rstrip() + "…"


def one_line(text: str) -> str:
    """Keep line breaks and control characters out of headers."""
    return " ".join(text.split())
