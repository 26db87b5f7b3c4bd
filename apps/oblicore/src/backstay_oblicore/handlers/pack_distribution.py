"""PACK_DISTRIBUTION and DELIVER_PACK: send a pack by mail, one recipient a job, or share a link to it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from typing import Any, Literal
from uuid import UUID

import asyncpg

from backstay import Context, Hopeless
from backstay_oblicore import files
from backstay_oblicore.domain.errors import InvalidRequest, MailUnavailable, PackMissing
from backstay_oblicore.domain.packs import COVERS
from backstay_oblicore.domain.words import AlertType, Channel, PackType, Severity
from backstay_oblicore.handlers.delivery import DELIVERY, one_line
from backstay_oblicore.profile import kind_options
from backstay_oblicore.services import Closing, Services
from backstay_oblicore.store import packs as store
from backstay_oblicore.store.notifications import Note
from backstay_parts.mail import Attachment, Mail, MailRefused

KIND = "PACK_DISTRIBUTION"
MOST_RECIPIENTS, MOST_DAYS = 50, 365


@dataclass
class Recipient:
    """Somebody whom a pack goes to."""

    email: str
    name: str | None = None


def register(services: Services) -> Any:
    """Register the kind on the application."""

    @services.app.job(**kind_options(KIND))
    async def pack_distribution(
        ctx: Context,
        pack_id: UUID,
        distribution_method: Literal["EMAIL", "SHARED_LINK"],
        requested_by: UUID,
        recipients: list[Recipient] | None = None,
        message: str | None = None,
        expires_in_days: int = 30,
        reference_time: datetime | None = None,
    ) -> dict[str, Any]:
        people = _checked(distribution_method, recipients or [], expires_in_days)
        async with services.closing(ctx, requested_by) as closing:
            pack = await store.find(closing.connection, pack_id)
            if pack is None:
                raise PackMissing(f"there is no pack {pack_id}, or you may not see it")
            if distribution_method == "SHARED_LINK":
                expires = ctx.now + timedelta(days=expires_in_days)
                token = await _share(closing, pack_id, expires)
                closing.result |= {"token": token, "expires_at": expires.isoformat()}
            await _write_down(closing, ctx, pack, distribution_method, people, message, requested_by)
            closing.notes.append(_note(pack, requested_by, ctx, len(people)))
        return {}

    return pack_distribution


async def _share(closing: Closing, pack: UUID, expires: datetime) -> str:
    """Give a pack a token that no other has; one that exists already is drawn again."""
    while True:
        token = secrets.token_urlsafe(24)
        try:
            async with closing.connection.transaction():
                await store.share(closing.connection, pack, token=token, expires_at=expires)
        except asyncpg.UniqueViolationError:
            continue
        return token


def _checked(method: str, people: list[Recipient], days: int) -> list[Recipient]:
    if method == "EMAIL" and not people:
        raise InvalidRequest("EMAIL needs at least one recipient")
    if len(people) > MOST_RECIPIENTS:
        raise InvalidRequest(f"a pack goes to at most {MOST_RECIPIENTS} recipients at a time")
    if not 1 <= days <= MOST_DAYS:
        raise InvalidRequest(f"a link lasts from 1 to {MOST_DAYS} days, not {days}")
    for person in people:
        if person.email.count("@") != 1 or any(letter.isspace() for letter in person.email):
            raise InvalidRequest(f"not an e-mail address: {person.email!r}")
    return list({person.email.lower(): person for person in people}.values())


async def _write_down(
    closing: Closing,
    ctx: Context,
    pack: Any,
    method: str,
    people: list[Recipient],
    message: str | None,
    user: UUID,
) -> None:
    to_write = people or [Recipient("")]
    for person in to_write:
        row = await store.add_distribution(
            closing.connection,
            pack,
            job=ctx.job_id,
            method=method,
            email=person.email or None,
            name=person.name,
            message=message,
            requested_by=user,
        )
        if row is not None and person.email:
            closing.then("DELIVER_PACK", distribution_id=row)


def _note(pack: Any, user: UUID, ctx: Context, count: int) -> Note:
    return Note(
        user_id=str(user),
        company_id=pack["company_id"],
        alert_type=AlertType.SYSTEM,
        severity=Severity.INFO,
        channels=(Channel.IN_APP,),
        title="Pack distribution started",
        message=f"The {COVERS[PackType(pack['pack_type'])]} goes to {count} recipient{'s' * (count != 1)}.",
        entity_type="AUDIT_PACK",
        entity_id=pack["id"],
        action_url=f"/packs/{pack['id']}",
        dedupe_key=f"distribution:{ctx.job_id}",
    )


def register_delivery(services: Services) -> Any:
    """Register the mail of a pack to one recipient."""

    @services.app.job(kind="DELIVER_PACK", **DELIVERY)
    async def deliver_pack(ctx: Context, distribution_id: UUID) -> dict[str, Any]:
        async with services.database.as_service() as connection:
            row = await connection.fetchrow(_TO_SEND, distribution_id)
        if row is None:
            return {"reply": "sent before"}
        mail = await _mail(services, row)
        try:
            reply = (await services.mail.deliver(mail, now=ctx.now)).reply
        except MailRefused as error:
            if error.is_temporary:
                raise MailUnavailable(str(error)) from error
            async with services.database.as_service() as connection:
                await connection.execute(_MARK, distribution_id, "FAILED", str(error), None)
            raise Hopeless(str(error)) from error
        async with services.closing(ctx) as closing:
            await closing.connection.execute(_MARK, distribution_id, "SENT", reply, ctx.now)
            closing.result["reply"] = reply
        return {}

    return deliver_pack


_TO_SEND = """
SELECT sent.id, sent.distribution_method, sent.recipient_email, sent.recipient_name, sent.message, pack.pack_type,
       pack.storage_path, pack.shared_link_token, pack.shared_link_expires_at, company.name AS company_name
FROM oblicore.pack_distributions AS sent
JOIN oblicore.audit_packs AS pack ON pack.id = sent.pack_id
JOIN oblicore.companies AS company ON company.id = sent.company_id
WHERE sent.id = $1 AND sent.status = 'PENDING'
"""
_MARK = "UPDATE oblicore.pack_distributions SET status = $2, reply = $3, sent_at = $4 WHERE id = $1"


async def _mail(services: Services, row: Any) -> Mail:
    cover = COVERS[PackType(row["pack_type"])]
    greeting = f"Dear {row['recipient_name']}," if row["recipient_name"] else "Hello,"
    lines = [greeting, "", row["message"] or f"{row['company_name']} sends you this: {cover}."]
    attachments: tuple[Attachment, ...] = ()
    if row["distribution_method"] == "EMAIL":
        content = await files.load(services.storage, row["storage_path"])
        attachments = (Attachment(row["storage_path"].rpartition("/")[2], content),)
    else:
        link = f"{services.settings.public_url}/share/{row['shared_link_token']}"
        lines += ["", link, f"The link works until {row['shared_link_expires_at']:%-d %B %Y}."]
    html = "".join(f"<p>{escape(line)}</p>" for line in lines if line)
    return Mail(
        row["recipient_email"],
        one_line(f"{cover} of {row['company_name']}"),
        "\n".join(lines) + "\n",
        html,
        attachments,
        message_id=f"<pack-{row['id']}@oblicore>",
    )
