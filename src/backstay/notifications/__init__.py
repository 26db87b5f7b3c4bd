"""Telling people: one `Notification`, and channels with one `send` each.

Errors say whether trying again can help: `Undeliverable` cannot, `TryAgain` can.
"""

from backstay.notifications.errors import NotificationError, TryAgain, Undeliverable
from backstay.notifications.local import InAppChannel, InboxStore, LogChannel
from backstay.notifications.mail import EmailChannel, SmtpSettings, checked_address
from backstay.notifications.notification import Attachment, Channel, Notification, Receipt, Severity
from backstay.notifications.web import SlackChannel, SmsChannel, WebhookChannel

__all__ = [
    "Attachment",
    "Channel",
    "EmailChannel",
    "InAppChannel",
    "InboxStore",
    "LogChannel",
    "Notification",
    "NotificationError",
    "Receipt",
    "Severity",
    "SlackChannel",
    "SmsChannel",
    "SmtpSettings",
    "TryAgain",
    "Undeliverable",
    "WebhookChannel",
    "checked_address",
]
