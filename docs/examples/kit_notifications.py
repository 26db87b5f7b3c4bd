"""Telling people: one notification over several channels, and what a job does about an error."""

import asyncio
import logging
import sys

from backstay import Backstay, Hopeless, Retry
from backstay.errors import JobDead
from backstay.notifications import (
    Channel,
    EmailChannel,
    InAppChannel,
    LogChannel,
    Notification,
    Severity,
    SmtpSettings,
    TryAgain,
    Undeliverable,
)

app = Backstay("sqlite://:memory:")


class Inbox:
    """The application's own inbox; a real one is a table with a unique key."""

    def __init__(self) -> None:
        self.messages: dict[str, Notification] = {}

    async def add_message(self, notification: Notification) -> str:
        self.messages.setdefault(notification.key, notification)
        return notification.key


inbox = Inbox()
channels: dict[str, Channel] = {
    "log": LogChannel(),
    "in-app": InAppChannel(inbox),
    # Nobody listens on port 1: this channel shows what a job does when a server is down.
    "email": EmailChannel(SmtpSettings("127.0.0.1", 1, tls="none"), "noreply@example.com"),
}


@app.job(max_attempts=5)
async def notify(channel: str, recipient: str, subject: str, key: str) -> str:
    notification = Notification(recipient, subject, "Open the register.", severity=Severity.WARNING, key=key)
    try:
        return (await channels[channel].send(notification)).reference
    except Undeliverable as error:
        raise Hopeless(str(error)) from error
    except TryAgain as error:
        raise Retry(error.reason, after=error.retry_after or "1m") from error


async def main() -> None:
    logging.basicConfig(stream=sys.stdout, format="%(message)s", level=logging.WARNING)
    logging.getLogger("backstay").setLevel(logging.CRITICAL)
    logging.getLogger("backstay.notifications").setLevel(logging.INFO)
    async with app.working(concurrency=2):
        late = await notify.enqueue(
            channel="log", recipient="operators", subject="Queue mail is late", key="late"
        )
        due = await notify.enqueue(channel="in-app", recipient="user-7", subject="Due tomorrow", key="due-17")
        await late.result(timeout=30)
        print("in-app:", await due.result(timeout=30))
        wrong = await notify.enqueue(
            channel="email", recipient="ada at home", subject="Due tomorrow", key="due-17"
        )
        try:
            await wrong.result(timeout=30)
        except JobDead as error:
            print(error)
    try:
        await channels["email"].send(Notification("ada@example.com", "Due tomorrow", "Open the register."))
    except TryAgain as error:
        print("a server that is down is tried again:", error.permanent is False)
    print(list(inbox.messages))


asyncio.run(main())
