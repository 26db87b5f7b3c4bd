"""How is a mail sent, and what is known when that fails?"""

import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import format_datetime, make_msgid
from typing import TYPE_CHECKING

from backstay_parts.optional import need

if TYPE_CHECKING:
    from datetime import datetime


class MailUnreachable(ConnectionError):
    """The server could not be reached or broke off; the mail may be sent again later."""


class MailRefused(RuntimeError):
    """The server refused the mail; `reply_code` below 500 means that it may be sent again later.

    Not called `code`: where a handler lets the error through, that would be read as the status of an HTTP answer.
    """

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"the mail server refused the message with code {code}: {text}")
        self.reply_code, self.text = code, text

    @property
    def is_temporary(self) -> bool:
        """True if the server asked to try again later."""
        return 400 <= self.reply_code < 500


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that goes with a mail."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """One message to one recipient; one recipient each keeps a refusal from touching the others."""

    recipient: str
    subject: str
    text: str
    html: str | None = None
    attachments: tuple[Attachment, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    message_id: str | None = None
    """Give a stable one (`<job-17@example.org>`) so that a mail sent twice can be recognised."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is known of a mail that was taken: its id, and the server's words when it took it."""

    message_id: str
    reply: str


class MailSender:
    """Sends mails over SMTP, a connection each."""

    def __init__(
        self,
        host: str,
        port: int,
        *,
        sender: str,
        username: str | None = None,
        password: str | None = None,
        start_tls: bool | None = False,
        timeout: float = 30.0,
    ) -> None:
        self._host, self._port, self._sender = host, port, sender
        self._username, self._password = username, password
        self._start_tls, self._timeout = start_tls, timeout

    async def send(self, mail: Mail, *, now: "datetime") -> str:
        """Send, and return the message id; raises `MailRefused` or `MailUnreachable`."""
        return (await self.deliver(mail, now=now)).message_id

    async def deliver(self, mail: Mail, *, now: "datetime") -> Receipt:
        """Send, and return what the server said; raises `MailRefused` or `MailUnreachable`."""
        aiosmtplib = need("aiosmtplib", extra="mail")
        message = compose(mail, sender=self._sender, now=now)
        try:
            _, reply = await aiosmtplib.send(
                message,
                hostname=self._host,
                port=self._port,
                username=self._username,
                password=self._password,
                start_tls=self._start_tls,
                timeout=self._timeout,
            )
        except aiosmtplib.SMTPRecipientsRefused as error:
            first = error.recipients[0]
            raise MailRefused(first.code, first.message) from error
        except aiosmtplib.SMTPResponseException as error:
            raise MailRefused(error.code, error.message) from error
        except (aiosmtplib.SMTPException, OSError) as error:
            raise MailUnreachable(f"cannot send over {self._host}:{self._port}: {error}") from error
        # Whatever else a server may answer to a message that it takes, its code is 250 (RFC 5321, 4.3.2).
        return Receipt(str(message["Message-ID"]), f"250 {reply}".strip())


def compose(mail: Mail, *, sender: str, now: "datetime") -> EmailMessage:
    """The message as it goes over the wire; a line break in a header is refused by the library."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = sender, mail.recipient, mail.subject
    message["Date"] = format_datetime(now)
    message["Message-ID"] = mail.message_id or make_msgid(domain=sender.rpartition("@")[2].strip(">") or None)
    for name, value in mail.headers.items():
        message[name] = value
    message.set_content(mail.text)
    if mail.html is not None:
        message.add_alternative(mail.html, subtype="html")
    for file in mail.attachments:
        guessed = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        maintype, _, subtype = guessed.partition("/")
        message.add_attachment(file.content, maintype=maintype, subtype=subtype, filename=file.name)
    return message
