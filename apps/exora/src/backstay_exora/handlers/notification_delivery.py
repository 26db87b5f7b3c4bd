"""The job type notification_delivery: a mail to one recipient, once."""

from typing import Any
from uuid import UUID

from backstay import Context
from backstay_exora.app import app, settings
from backstay_exora.domain.failures import failure
from backstay_exora.domain.kinds import Category
from backstay_parts.mail import Mail, MailRefused, MailSender, MailUnreachable


@app.job(timeout="1m")
async def notification_delivery(
    ctx: Context,
    notification_id: UUID,
    recipient: str,
    subject: str,
    text: str,
    job_category: Category = Category.STANDARD,
) -> dict[str, Any] | None:
    """Send, and note the message id; a repeated delivery carries the same message id."""
    sender = MailSender(settings.mail_host, settings.mail_port, sender=settings.mail_sender)
    mail = Mail(recipient, subject, text, message_id=f"<{notification_id}@exora>")
    message_id = await ctx.step("send", _send, sender, mail, ctx)
    async with ctx.transaction() as tx:
        await tx.connection.execute(
            "INSERT INTO exora.notifications (id, recipient, message_id, sent_at) VALUES ($1, $2, $3, now())"
            " ON CONFLICT (id) DO NOTHING",
            notification_id,
            recipient,
            message_id,
        )
        tx.result({"message_id": message_id})
    return None


async def _send(sender: MailSender, mail: Mail, ctx: Context) -> str:
    try:
        return await sender.send(mail, now=ctx.now)
    except MailRefused as error:
        code = "MAIL_UNREACHABLE" if error.is_temporary else "MAIL_REFUSED"
        raise failure(code, f"the mail server answered {error.reply_code}") from error
    except MailUnreachable as error:
        raise failure("MAIL_UNREACHABLE", "the mail server could not be reached") from error
