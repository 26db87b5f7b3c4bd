"""E-mail by SMTP, with the standard library, in a thread."""

from __future__ import annotations

import asyncio
import re
import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formataddr, make_msgid
from typing import Literal

from backstay.notifications.errors import TryAgain, Undeliverable
from backstay.notifications.notification import Notification, Receipt, Severity

Tls = Literal["starttls", "tls", "none"]

_LOCAL = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN = re.compile(r"(?=.{1,253}$)(?:(?!-)[A-Za-z0-9-]{1,63}(?<!-)\.)*(?!-)[A-Za-z0-9-]{1,63}(?<!-)")
_BREAKS = re.compile(r"[\r\n\0]")


@dataclass(frozen=True)
class SmtpSettings:
    """Where mail is handed over. `tls="none"` is for a server on the same machine; a password then is refused."""

    host: str
    port: int = 587
    tls: Tls = "starttls"
    username: str = ""
    password: str = field(default="", repr=False)
    timeout: timedelta = timedelta(seconds=20)
    context: ssl.SSLContext | None = None

    def __post_init__(self) -> None:
        if self.password and self.tls == "none":
            raise ValueError('a password must not be sent unprotected: use tls="starttls" or tls="tls"')


class EmailChannel:
    """Sends notifications as e-mail: text, HTML beside it, attachments.

    Line ends in subject, address or headers are refused, never sent: they would add headers of their own.
    """

    name = "email"

    def __init__(
        self,
        settings: SmtpSettings,
        sender: str,
        *,
        sender_name: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._sender = checked_address(sender)
        self._sender_name = sender_name
        self._headers = dict(headers or {})

    async def send(self, notification: Notification) -> Receipt:
        """Hand one mail over to the server; the receipt's reference is its Message-ID."""
        message = self.message(notification)
        await asyncio.to_thread(self._deliver, message, notification.recipient.strip())
        return Receipt(self.name, str(message["Message-ID"]))

    def message(self, notification: Notification) -> EmailMessage:
        """Build the mail; raises `Undeliverable` for an address or a subject that cannot be."""
        message = EmailMessage(policy=SMTP)
        message["From"] = formataddr((_one_line(self._sender_name, "sender"), self._sender))
        message["To"] = checked_address(notification.recipient.strip())
        message["Subject"] = _one_line(notification.subject or notification.text[:80], "subject")
        message["Message-ID"] = make_msgid(domain=self._sender.rpartition("@")[2])
        message["Auto-Submitted"] = "auto-generated"
        if notification.severity is Severity.CRITICAL:
            message["Importance"] = "high"
        for name, value in self._headers.items():
            message[name] = _one_line(value, name)
        body = f"{notification.text}\n\n{notification.link}" if notification.link else notification.text
        message.set_content(body)
        if notification.html:
            message.add_alternative(notification.html, subtype="html")
        for each in notification.attachments:
            main, _, sub = each.content_type.partition("/")
            name = _one_line(each.name, "file name")
            message.add_attachment(each.content, maintype=main, subtype=sub or "octet-stream", filename=name)
        return message

    def _deliver(self, message: EmailMessage, recipient: str) -> None:
        try:
            with self._connected() as server:
                server.send_message(message, self._sender, [recipient])
        except smtplib.SMTPRecipientsRefused as error:
            code, text = next(iter(error.recipients.values()))
            raise self._refused(code, text) from None
        except smtplib.SMTPAuthenticationError as error:
            # Our own settings are wrong, not the recipient: the mail is kept until they are mended.
            raise TryAgain(self.name, f"the server refused our login with {error.smtp_code}") from None
        except smtplib.SMTPResponseException as error:
            raise self._refused(error.smtp_code, error.smtp_error) from None
        except (smtplib.SMTPException, OSError) as error:
            raise TryAgain(self.name, f"{type(error).__name__}: {error}") from error

    def _connected(self) -> smtplib.SMTP:
        settings = self._settings
        seconds = settings.timeout.total_seconds()
        context = settings.context or ssl.create_default_context()
        if settings.tls == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                settings.host, settings.port, timeout=seconds, context=context
            )
        else:
            server = smtplib.SMTP(settings.host, settings.port, timeout=seconds)
        try:
            if settings.tls == "starttls":
                server.starttls(context=context)
            if settings.username:
                server.login(settings.username, settings.password)
        except BaseException:
            server.close()
            raise
        return server

    def _refused(self, code: int, text: bytes | str) -> Undeliverable | TryAgain:
        """Refused for good with 5xx, for now with 4xx; what the server wrote may name people and stays out."""
        status = re.match(
            r"[245]\.\d{1,3}\.\d{1,3}", text.decode("ascii", "replace") if isinstance(text, bytes) else text
        )
        told = f"the server answered {code}{f' ({status.group()})' if status else ''}"
        return Undeliverable(self.name, told) if code >= 500 else TryAgain(self.name, told)


def checked_address(address: str) -> str:
    """Return an e-mail address in the form that every server takes, or raise `Undeliverable`.

    An international domain is encoded; quoted names, comments, groups and several addresses are refused.
    """
    local, at, domain = address.rpartition("@")
    if domain and not domain.isascii():
        try:
            domain = domain.encode("idna").decode("ascii")
        except UnicodeError:
            domain = ""
    if not at or len(local) > 64 or not _LOCAL.fullmatch(local) or not _DOMAIN.fullmatch(domain):
        raise Undeliverable("email", "the recipient is not an e-mail address")
    return f"{local}@{domain}"


def _one_line(text: str, what: str) -> str:
    if _BREAKS.search(text):
        raise Undeliverable("email", f"the {what} holds a line end or NUL")
    return text
