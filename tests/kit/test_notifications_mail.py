"""E-mail notifications through a real SMTP server."""

from __future__ import annotations

import asyncio
import email
import email.policy
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword
from kit_tls import PrivateAuthority

from backstay.notifications import (
    Attachment,
    EmailChannel,
    Notification,
    Severity,
    SmtpSettings,
    TryAgain,
    Undeliverable,
    checked_address,
)


@dataclass(eq=False)
class Mailbox:
    """An SMTP server that keeps what it takes and refuses some recipients."""

    port: int = 0
    refusals: dict[str, str] = field(default_factory=dict)
    mails: list[Envelope] = field(default_factory=list)

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Envelope, address: str, options: Any
    ) -> str:
        if address in self.refusals:
            return self.refusals[address]
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        self.mails.append(envelope)
        return "250 taken"

    def message(self) -> EmailMessage:
        content = self.mails[-1].content
        assert isinstance(content, bytes)
        parsed = email.message_from_bytes(content, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed


OpenMailbox = Callable[..., Awaitable[Mailbox]]


@pytest.fixture
async def open_mailbox() -> AsyncIterator[OpenMailbox]:
    async with AsyncExitStack() as stack:

        async def opened(**settings: Any) -> Mailbox:
            mailbox = Mailbox()
            loop = asyncio.get_running_loop()
            protocols: list[SMTP] = []

            def protocol() -> SMTP:
                protocols.append(SMTP(mailbox, hostname="localhost", loop=loop, **settings))
                return protocols[-1]

            server = await loop.create_server(protocol, "127.0.0.1", 0)
            mailbox.port = server.sockets[0].getsockname()[1]
            await stack.enter_async_context(server)
            stack.push_async_callback(ended, protocols)
            return mailbox

        yield opened


async def ended(protocols: list[SMTP]) -> None:
    """Wait until every connection is closed on the server's side too."""
    async with asyncio.timeout(20):
        for protocol in protocols:
            task = protocol._handler_coroutine
            await asyncio.wait([task])


def channel(mailbox: Mailbox, **settings: Any) -> EmailChannel:
    smtp = SmtpSettings("127.0.0.1", mailbox.port, **{"tls": "none", **settings})
    return EmailChannel(smtp, "noreply@backstay.example", sender_name="Backstay – Überwachung")


def notification(recipient: str = "ada@example.com", **more: Any) -> Notification:
    return Notification(recipient, **{"subject": "Fällig: 3 Prüfungen", "text": "Zeile 1\nZeile 2 €", **more})


async def test_a_mail_arrives_with_text_html_and_attachment(open_mailbox: OpenMailbox) -> None:
    mailbox = await open_mailbox()
    packed = bytes(range(256)) * 500

    receipt = await channel(mailbox).send(
        notification(
            html="<p>Prüfen</p>",
            link="https://example.com/x",
            severity=Severity.CRITICAL,
            attachments=[Attachment("Übersicht.pdf", packed, "application/pdf")],
        )
    )

    message = mailbox.message()
    text, html = message.get_body(("plain",)), message.get_body(("html",))
    (attached,) = message.iter_attachments()
    assert mailbox.mails[0].mail_from == "noreply@backstay.example"
    assert mailbox.mails[0].rcpt_tos == ["ada@example.com"]
    assert message["Subject"] == "Fällig: 3 Prüfungen"
    assert message["From"] == "Backstay – Überwachung <noreply@backstay.example>"
    assert message["Message-ID"] == receipt.reference
    assert message["Importance"] == "high"
    assert text is not None
    assert text.get_content().splitlines() == ["Zeile 1", "Zeile 2 €", "", "https://example.com/x"]
    assert html is not None
    assert "<p>Prüfen</p>" in html.get_content()
    assert (attached.get_filename(), attached.get_content()) == ("Übersicht.pdf", packed)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("550 5.1.1 no such user", Undeliverable),
        ("553 bad", Undeliverable),
        ("450 4.2.1 later", TryAgain),
        ("421 busy", TryAgain),
    ],
)
async def test_a_refusal_says_whether_trying_again_helps(
    open_mailbox: OpenMailbox, answer: str, kind: type[Exception]
) -> None:
    mailbox = await open_mailbox()
    mailbox.refusals["gone@example.com"] = answer

    with pytest.raises(kind) as refused:
        await channel(mailbox).send(notification("gone@example.com"))

    assert type(refused.value) is kind
    assert answer[:3] in str(refused.value)
    assert "gone@example.com" not in str(refused.value)
    assert mailbox.mails == []


async def test_no_server_is_tried_again() -> None:
    with pytest.raises(TryAgain):
        await EmailChannel(SmtpSettings("127.0.0.1", 1, tls="none"), "a@b.example").send(notification())


@pytest.mark.parametrize("subject", ["a\r\nBcc: eve@example.com", "a\nb", "a\rb", "a\0b"])
async def test_a_subject_cannot_add_headers(open_mailbox: OpenMailbox, subject: str) -> None:
    mailbox = await open_mailbox()

    with pytest.raises(Undeliverable, match="line end"):
        await channel(mailbox).send(notification(subject=subject))

    assert mailbox.mails == []


@pytest.mark.parametrize(
    "address",
    [
        "ada",
        "ada@",
        "@example.com",
        "a b@example.com",
        "ada@example.com, eve@example.com",
        "ada@example.com\nBcc: eve@example.com",
        "ada@example.com> RCPT TO:<eve@example.com",
        "ada@exa mple.com",
        '"ada"@example.com',
        "ada@-example.com",
        "ada..b@example.com",
        "ä@example.com",
        "a" * 65 + "@example.com",
        "ada@" + "a." * 200 + "com",
    ],
)
def test_what_is_no_address_is_undeliverable(address: str) -> None:
    with pytest.raises(Undeliverable):
        checked_address(address)


def test_an_international_domain_is_encoded() -> None:
    assert checked_address("ada+x@münchen.example") == "ada+x@xn--mnchen-3ya.example"


async def test_starttls_verifies_the_name_and_logs_in(open_mailbox: OpenMailbox, tmp_path: Path) -> None:
    def check(server: Any, session: Any, envelope: Any, mechanism: str, data: LoginPassword) -> AuthResult:
        right = data.login == b"app" and data.password == b"right"
        return AuthResult(success=right, handled=False)

    authority = PrivateAuthority(tmp_path)
    mailbox = await open_mailbox(
        tls_context=authority.server("localhost"),
        require_starttls=True,
        authenticator=check,
        auth_required=True,
    )

    def settings(password: str, context: ssl.SSLContext | None) -> SmtpSettings:
        return SmtpSettings("localhost", mailbox.port, username="app", password=password, context=context)

    await EmailChannel(settings("right", authority.client()), "a@b.example").send(notification())
    with pytest.raises(TryAgain, match="login"):
        await EmailChannel(settings("wrong", authority.client()), "a@b.example").send(notification())
    with pytest.raises(TryAgain, match=r"(?i)certificate"):
        await EmailChannel(settings("right", None), "a@b.example").send(notification())

    assert len(mailbox.mails) == 1


def test_a_password_is_never_sent_unprotected_nor_shown() -> None:
    with pytest.raises(ValueError, match="unprotected"):
        SmtpSettings("localhost", tls="none", username="app", password="secret-canary")

    assert "secret-canary" not in repr(SmtpSettings("localhost", username="app", password="secret-canary"))


@pytest.mark.parametrize("wrong", [{"recipient": " "}, {"subject": "", "text": " "}, {"subject": "x" * 501}])
def test_an_incomplete_notification_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"needs|at most"):
        Notification(**{"recipient": "a@b.c", "subject": "s", "text": "t", **wrong})


def test_a_notification_does_not_show_recipient_and_text() -> None:
    shown = repr(notification("ada@example.com", key="deadline-7"))

    assert shown == "<Notification deadline-7>"
