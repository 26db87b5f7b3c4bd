"""deliver_message: writes and sends the mail that a message of a queue asks for, each once."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from backstay import Context, Handler, Hopeless, Retry
from backstay_parts.mail import Mail, MailRefused, MailSender, MailUnreachable
from backstay_watchpoint.handlers.patience import ATTEMPTS, BACKOFF
from backstay_watchpoint.platform import Platform
from backstay_watchpoint.services import mails
from backstay_watchpoint.services.mails import Envelope

QUEUE = "mail"
MAIL_DOMAIN = "watchpoint.example"


def register(platform: Platform, on_failure: Handler[..., Any]) -> Handler[..., Any]:
    """Register the handler; a mail server that does not answer is tried again for two days."""
    settings = platform.settings
    sender = MailSender(settings.smtp_host, settings.smtp_port, sender=settings.mail_from)

    @platform.app.job(
        kind="deliver_message",
        queue=QUEUE,
        max_attempts=ATTEMPTS,
        backoff=BACKOFF,
        timeout="60s",
        on_dead=on_failure,
        on_cancelled=on_failure,
    )
    async def deliver_message(ctx: Context, body: dict[str, Any]) -> str:
        """Send one mail; a step remembers that it was sent, so that a later attempt does not send it again."""
        envelope = await _compose(platform, body)
        if envelope is None:
            return "nothing to send"
        try:
            sent = await ctx.step("send", sender.send, _mail(envelope), now=platform.clock())
        except (MailUnreachable, MailRefused) as error:
            if isinstance(error, MailUnreachable) or error.is_temporary:
                await _note(platform, envelope, "retrying")
                # Said outright: codes of mail servers are not those of HTTP, where 451 would be hopeless.
                raise Retry(str(error)) from error
            await _note(platform, envelope, "bounced")
            raise Hopeless(
                f"the mail server refuses the recipient for good (code {error.reply_code})"
            ) from error
        async with platform.database.transaction() as transaction:
            await mails.note_sent(transaction, envelope, sent, platform.clock())
        return sent

    registered: Handler[..., Any] = deliver_message
    return registered


async def _compose(platform: Platform, body: dict[str, Any]) -> Envelope | None:
    """Write the mail; where there is nothing to send, the delivery ends as skipped. Raises Hopeless."""
    async with platform.database.transaction() as transaction:
        try:
            operators = platform.settings.ops_mail
            envelope = await mails.compose(transaction, body, platform.clock(), operators=operators)
        except msgspec.ValidationError as error:
            raise Hopeless(f"the message cannot be read: {error}") from error
        delivery_id = mails.delivery_of(body)
        if envelope is None and delivery_id is not None:
            await mails.settle(transaction, delivery_id, "skipped")
    return envelope


def _mail(envelope: Envelope) -> Mail:
    text = envelope.mail
    return Mail(envelope.recipient, text.subject, text.text, message_id=message_id(envelope.dedupe_id))


def message_id(dedupe_id: str) -> str:
    """Return the same id for the same message, so that a mail server can recognise a repetition."""
    return f"<{hashlib.sha256(dedupe_id.encode()).hexdigest()[:32]}@{MAIL_DOMAIN}>"


async def _note(platform: Platform, envelope: Envelope, status: str) -> None:
    async with platform.database.transaction() as transaction:
        await mails.set_delivery(transaction, envelope, status, platform.clock())
