"""Notifications over HTTP, in the application and in the log."""

from __future__ import annotations

import base64
import json
import logging
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
from kit_servers import OpenSink, Sink

from backstay.notifications import (
    InAppChannel,
    LogChannel,
    Notification,
    Severity,
    SlackChannel,
    SmsChannel,
    TryAgain,
    Undeliverable,
    WebhookChannel,
)
from backstay.outgoing import HexSignature, Sender, StandardWebhooks, webhook_secret

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
SIGNATURE = StandardWebhooks(webhook_secret(bytes(32)))


def sender_to(sink: Sink) -> Sender:
    return Sender(allow=[f"127.0.0.1:{sink.port}"])


def url_of(sink: Sink) -> str:
    return f"http://127.0.0.1:{sink.port}/hook"


def split(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    pairs = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, value in pairs}, body


async def test_a_webhook_is_signed_and_carries_its_key(open_sink: OpenSink) -> None:
    sink = await open_sink()

    async with sender_to(sink) as sender:
        channel = WebhookChannel(sender, SIGNATURE, now=lambda: NOW)
        await channel.send(
            Notification(url_of(sink), "Dead letter", "text", key="dead/7", facts={"count": 3})
        )

    headers, body = split(sink.requests[0])
    assert SIGNATURE.verify(headers, body, now=NOW) == "msg_dead_7"
    assert json.loads(body)["facts"] == {"count": 3}


async def test_a_webhook_can_carry_the_hex_form(open_sink: OpenSink) -> None:
    sink = await open_sink()
    signature = HexSignature("secret")

    async with sender_to(sink) as sender:
        await WebhookChannel(sender, signature).send(Notification(url_of(sink), "s", "t", key="k"))

    headers, body = split(sink.requests[0])
    signature.verify(headers, body)


@pytest.mark.parametrize(
    ("status", "kind", "wait"),
    [(404, Undeliverable, None), (302, Undeliverable, None), (500, TryAgain, None), (429, TryAgain, 9)],
)
async def test_a_status_says_whether_trying_again_helps(
    open_sink: OpenSink, status: int, kind: type[Exception], wait: int | None
) -> None:
    extra = f"Retry-After: {wait}\r\n" if wait else ""
    sink = await open_sink(answer=f"HTTP/1.1 {status} X\r\n{extra}Content-Length: 0\r\n\r\n".encode())

    async with sender_to(sink) as sender:
        with pytest.raises(kind) as failed:
            await SlackChannel(sender).send(Notification(url_of(sink), "s", "t"))

    if isinstance(failed.value, TryAgain):
        assert failed.value.retry_after == (timedelta(seconds=wait) if wait else None)


async def test_a_webhook_into_our_own_network_is_undeliverable() -> None:
    async with Sender(plain_http=True) as sender:
        with pytest.raises(Undeliverable, match="loopback"):
            await SlackChannel(sender).send(Notification("http://127.0.0.1:80/", "s", "t"))


async def test_a_chat_message_cannot_mention_or_link(open_sink: OpenSink) -> None:
    sink = await open_sink()
    hostile = "<!channel> & <https://evil.example|click>"

    async with sender_to(sink) as sender:
        await SlackChannel(sender).send(
            Notification(url_of(sink), "Alert", hostile, severity=Severity.CRITICAL)
        )

    _, body = split(sink.requests[0])
    text = json.loads(body)["text"]
    assert text == "🔴 *Alert*\n&lt;!channel&gt; &amp; &lt;https://evil.example|click&gt;"


async def test_an_sms_goes_to_the_provider_as_a_form(open_sink: OpenSink) -> None:
    sink = await open_sink(answer=b'HTTP/1.1 201 Created\r\nContent-Length: 14\r\n\r\n{"sid": "SM77"}'[:-1])

    async with sender_to(sink) as sender:
        channel = SmsChannel(sender, url_of(sink), account="AC1", token="t", from_number="+15550001")
        receipt = await channel.send(Notification("+44 (20) 7946-0018", "subject", "Fällig & heute"))

    headers, body = split(sink.requests[0])
    assert parse_qs(body.decode()) == {
        "To": ["+442079460018"],
        "From": ["+15550001"],
        "Body": ["Fällig & heute"],
    }
    assert base64.b64decode(headers["authorization"].removeprefix("Basic ")) == b"AC1:t"
    assert receipt.channel == "sms"


@pytest.mark.parametrize(
    "number", ["07946 0018", "+0123456789", "ada@example.com", "+12", "+1234567890123456"]
)
async def test_what_is_no_phone_number_is_undeliverable(open_sink: OpenSink, number: str) -> None:
    sink = await open_sink()

    async with sender_to(sink) as sender:
        channel = SmsChannel(sender, url_of(sink), account="AC1", token="t", from_number="+15550001")
        with pytest.raises(Undeliverable, match="phone number"):
            await channel.send(Notification(number, "s", "t"))

    assert sink.connections == 0


class Inbox:
    """An inbox in memory, for one test."""

    def __init__(self) -> None:
        self.messages: dict[str, Notification] = {}

    async def add_message(self, notification: Notification) -> str:
        self.messages.setdefault(notification.key, notification)
        return notification.key


async def test_the_inbox_of_the_application_takes_a_message_once() -> None:
    inbox = Inbox()
    channel = InAppChannel(inbox)

    first = await channel.send(Notification("user-7", "s", "one", key="k"))
    again = await channel.send(Notification("user-7", "s", "two", key="k"))

    assert first == again
    assert inbox.messages["k"].text == "one"


async def test_the_log_names_subject_and_key_but_no_person(caplog: pytest.LogCaptureFixture) -> None:
    told = Notification(
        "ada@example.com", "Queue\nis late", "private text", key="k7", severity=Severity.CRITICAL
    )

    with caplog.at_level(logging.INFO, "backstay.notifications"):
        await LogChannel().send(told)

    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == "notification: Queue is late (key k7, tenant -)"
