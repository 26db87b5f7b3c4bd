"""deliver_message: writes and sends the mail that a message of a queue asks for, each once."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from backstay import Context, Handler, Hopeless
from backstay_parts.mail import Mail, MailRefused, MailSender
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import mails
from backstay_watchpoint.services.mails import Envelope

QUEUE = "mail"
MAIL_DOMAIN = "watchpoint.example"


def register(platform: Platform) -> Handler[..., Any]:
    """Register the handler; a mail server that does not answer is tried again."""
    settings = platform.settings
    sender = MailSender(settings.smtp_host, settings.smtp_port, sender=settings.mail_from)

    @platform.app.job(kind="deliver_message", queue=QUEUE, max_attempts=12, timeout="60s")
    async def deliver_message(ctx: Context, body: dict[str, Any]) -> str:
        """Send one mail; a step remembers that it was sent, so that a later attempt does not send it again."""
        try:
            async with platform.database.transaction() as transaction:
                envelope = await mails.compose(
                    transaction, body, platform.clock(), operators=settings.ops_mail
                )
        except msgspec.ValidationError as error:
            raise Hopeless(f"the message cannot be read: {error}") from error
        if envelope is None:
            return "nothing to send"
        mail = Mail(
            envelope.recipient,
            envelope.mail.subject,
            envelope.mail.text,
            message_id=message_id(envelope.dedupe_id),
        )
        try:
            sent = await ctx.step("send", sender.send, mail, now=platform.clock())
        except MailRefused as error:
            if error.is_temporary:
                raise
            await _bounced(platform, envelope)
            raise Hopeless(f"the mail server refuses the recipient for good (code {error.code})") from error
        async with platform.database.transaction() as transaction:
            await mails.note_sent(transaction, envelope, sent, platform.clock())
        return sent

    registered: Handler[..., Any] = deliver_message
    return registered


def message_id(dedupe_id: str) -> str:
    """Return the same id for the same message, so that a mail server can recognise a repetition."""
    return f"<{hashlib.sha256(dedupe_id.encode()).hexdigest()[:32]}@{MAIL_DOMAIN}>"


async def _bounced(platform: Platform, envelope: Envelope) -> None:
    async with platform.database.transaction() as transaction:
        await mails.set_delivery(transaction, envelope, "bounced", platform.clock())
