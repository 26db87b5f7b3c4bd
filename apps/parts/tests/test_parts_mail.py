"""Mails arrive at a real SMTP server as they were sent, and refusals are told apart."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backstay_parts.mail import Attachment, Mail, MailRefused, MailSender, MailServer, MailUnreachable

NOW = datetime(2026, 3, 29, 1, 30, tzinfo=UTC)


@pytest.fixture(scope="module")
def running() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def server(running: MailServer) -> MailServer:
    running.clear()
    running.accept_all()
    return running


def _sender(server: MailServer) -> MailSender:
    return MailSender(server.host, server.port, sender="Clinic <office@example.org>")


async def test_text_html_and_files_arrive_unchanged(server: MailServer) -> None:
    mail = Mail(
        "ute@example.org",
        "Prüfung fällig",
        "Grüße\n",
        html="<p>Grüße</p>",
        attachments=(Attachment("plan.pdf", b"%PDF \x00\xff"),),
        message_id="<job-7@example.org>",
    )

    sent_id = await _sender(server).send(mail, now=NOW)

    (received,) = server.wait_for(1, to="ute@example.org")
    assert sent_id == received.message["Message-ID"] == "<job-7@example.org>"
    assert received.subject == "Prüfung fällig"
    assert received.text == "Grüße\n"
    assert received.attachments == {"plan.pdf": b"%PDF \x00\xff"}
    assert received.message["Date"].datetime == NOW


@pytest.mark.parametrize(("code", "is_temporary"), [(451, True), (550, False)])
async def test_a_refused_recipient_tells_whether_to_try_again(
    server: MailServer, code: int, is_temporary: bool
) -> None:
    server.refuse("gone@example.org", code, times=1)

    with pytest.raises(MailRefused) as caught:
        await _sender(server).send(Mail("gone@example.org", "a", "b"), now=NOW)
    await _sender(server).send(Mail("gone@example.org", "a", "b"), now=NOW)

    assert caught.value.reply_code == code
    assert caught.value.is_temporary is is_temporary
    assert len(server.wait_for(1)) == 1


async def test_a_server_that_is_down_is_unreachable_and_keeps_its_mail(tmp_path: Path) -> None:
    with MailServer(folder=tmp_path) as own:
        await _sender(own).send(Mail("a@example.org", "before", "x"), now=NOW)
        own.kill()

        with pytest.raises(MailUnreachable):
            await _sender(own).send(Mail("a@example.org", "during", "x"), now=NOW)
        own.start()
        await _sender(own).send(Mail("a@example.org", "after", "x"), now=NOW)

        assert [mail.subject for mail in own.wait_for(2)] == ["before", "after"]


async def test_a_line_break_in_a_subject_is_refused(server: MailServer) -> None:
    with pytest.raises(ValueError, match="linefeed"):
        await _sender(server).send(Mail("a@example.org", "x\nBcc: b@example.org", "x"), now=NOW)
