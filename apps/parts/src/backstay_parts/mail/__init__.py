"""Mail: a sender over SMTP, and a private server whose inbox tests and demos can read."""

from backstay_parts.mail.inbox import MailServer, ReceivedMail
from backstay_parts.mail.sender import Attachment, Mail, MailRefused, MailSender, MailUnreachable, Receipt

__all__ = [
    "Attachment",
    "Mail",
    "MailRefused",
    "MailSender",
    "MailServer",
    "MailUnreachable",
    "Receipt",
    "ReceivedMail",
]
