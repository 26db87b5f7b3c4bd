"""A webhook receiver as a process of its own, for tests and demos."""

from backstay_parts.webhooks.receiver import Delivery, WebhookReceiver

__all__ = ["Delivery", "WebhookReceiver"]
