"""Channels over HTTP: webhooks, Slack-style messages and SMS providers, all through the safe sender."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from backstay.notifications.errors import NotificationError, TryAgain, Undeliverable
from backstay.notifications.notification import Notification, Receipt, Severity
from backstay.outgoing import (
    Answer,
    AnswerLater,
    HexSignature,
    OutgoingError,
    Sender,
    StandardWebhooks,
)
from backstay.outgoing.clock import utc_now

PHONE = re.compile(r"\+[1-9]\d{6,14}")
LONGEST_SMS = 1600
_MARKS = {Severity.INFO: "ℹ️", Severity.WARNING: "⚠️", Severity.CRITICAL: "🔴"}


class WebhookChannel:
    """POSTs notifications as JSON to the recipient's URL, signed."""

    name = "webhook"

    def __init__(
        self,
        sender: Sender,
        signature: StandardWebhooks | HexSignature,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._sender = sender
        self._signature = signature
        self._now = now

    async def send(self, notification: Notification) -> Receipt:
        """Deliver one notification; its key is the message's id, so that a receiver sees repetitions."""
        body = json.dumps(_members(notification), ensure_ascii=False, separators=(",", ":")).encode()
        if isinstance(self._signature, StandardWebhooks):
            signed = self._signature.headers(message_id_of(notification), self._now(), body)
        else:
            signed = self._signature.headers(body)
        answer = await _post(self, self._sender, notification.recipient, body, {**JSON, **signed})
        return Receipt(self.name, str(answer.status))


class SlackChannel:
    """POSTs `{"text": …}` to an incoming-webhook URL, as Slack, Mattermost and others take it."""

    name = "slack"

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    async def send(self, notification: Notification) -> Receipt:
        """Deliver one notification."""
        body = json.dumps({"text": slack_text(notification)}, ensure_ascii=False).encode()
        answer = await _post(self, self._sender, notification.recipient, body, JSON)
        return Receipt(self.name, str(answer.status))


class SmsChannel:
    """Sends notifications through a provider with the HTTP form that Twilio introduced.

    `url` is the provider's address for messages, `account` and `token` its basic authentication.
    """

    name = "sms"

    def __init__(self, sender: Sender, url: str, *, account: str, token: str, from_number: str) -> None:
        self._sender = sender
        self._url = url
        self._from = from_number
        self._authorization = base64.b64encode(f"{account}:{token}".encode()).decode()

    async def send(self, notification: Notification) -> Receipt:
        """Send one message; the receipt's reference is the provider's id for it."""
        number = re.sub(r"[ ()-]", "", notification.recipient)
        if not PHONE.fullmatch(number):
            raise Undeliverable(self.name, "the recipient is not a phone number with country code (+44 …)")
        text = f"{notification.text or notification.subject} {notification.link}".strip()
        body = urlencode({"To": number, "From": self._from, "Body": text[:LONGEST_SMS]}).encode()
        headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Authorization": f"Basic {self._authorization}",
        }
        answer = await _post(self, self._sender, self._url, body, headers)
        return Receipt(self.name, _reference(answer))


JSON: Mapping[str, str] = {"Content-Type": "application/json"}


def slack_text(notification: Notification) -> str:
    """Write a notification for a chat: what looks like a mention or a link in it stays text."""
    title = _plain(notification.subject or notification.text)
    lines = [f"{_MARKS[notification.severity]} *{title}*"]
    if notification.subject and notification.text:
        lines.append(_plain(notification.text))
    if notification.link:
        lines.append(_plain(notification.link))
    return "\n".join(lines)


def message_id_of(notification: Notification) -> str:
    """Return the id of a notification's webhook message: its key in letters that a header takes."""
    if not notification.key:
        raise ValueError(
            "a notification by webhook needs a key: it is the id by which a receiver sees repetitions"
        )
    return "msg_" + re.sub(r"[^A-Za-z0-9_:-]", "_", notification.key)[:200]


def _members(notification: Notification) -> dict[str, Any]:
    return {
        "type": "notification",
        "subject": notification.subject,
        "text": notification.text,
        "severity": notification.severity.value,
        "link": notification.link,
        "key": notification.key,
        "facts": dict(notification.facts),
    }


async def _post(
    channel: WebhookChannel | SlackChannel | SmsChannel,
    sender: Sender,
    url: str,
    body: bytes,
    headers: Mapping[str, str],
) -> Answer:
    try:
        answer = await sender.post(url, body, headers=headers)
        return answer.raise_for_status()
    except OutgoingError as error:
        raise _translated(channel.name, error) from error


def _translated(channel: str, error: OutgoingError) -> NotificationError:
    if error.permanent:
        return Undeliverable(channel, str(error))
    retry_after = error.retry_after if isinstance(error, AnswerLater) else None
    return TryAgain(channel, str(error), retry_after)


def _reference(answer: Answer) -> str:
    try:
        told = json.loads(answer.body)
    except ValueError:
        return ""
    found = told.get("sid") or told.get("id") if isinstance(told, dict) else None
    return str(found)[:100] if found else ""


def _plain(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
