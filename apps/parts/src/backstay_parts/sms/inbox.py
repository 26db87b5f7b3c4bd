"""A private server for text messages as a process, and what arrived in it."""

import secrets
import sys
import time
from dataclasses import dataclass

import httpx

from backstay.testing import free_port
from backstay_parts.servers.process import ServerProcess, answers_http

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ReceivedSms:
    """A message as the provider received it."""

    sid: str
    recipient: str
    sender: str
    text: str


class SmsServer(ServerProcess):
    """A provider on a free port; `url`, `account` and `token` for the sender, `messages()` for the reader."""

    def __init__(self) -> None:
        port = free_port()
        self.account, self.token = "AC" + secrets.token_hex(16), secrets.token_hex(16)
        env = {"SMS_ACCOUNT": self.account, "SMS_TOKEN": self.token}
        super().__init__([], port=port, name="sms", is_ready=answers_http("/"), env=env)
        module = "backstay_parts.sms.server"
        self.argv = [sys.executable, "-m", module, "--port", str(port), "--folder", str(self.folder)]

    def messages(self, *, to: str | None = None) -> list[ReceivedSms]:
        """What has arrived, in order; of one recipient only if asked."""
        found = [ReceivedSms(**entry) for entry in self._control("GET", "messages").json()]
        return [message for message in found if to is None or message.recipient == to]

    def wait_for(self, count: int, *, to: str | None = None, timeout: float = 30.0) -> list[ReceivedSms]:
        """The messages as soon as there are that many; raises `TimeoutError`."""
        deadline = time.monotonic() + timeout
        while len(found := self.messages(to=to)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} messages arrived within {timeout:g} seconds")
            time.sleep(_POLL_SECONDS)
        return found

    def refuse_next(self, *statuses: int, retry_after: int | None = None) -> None:
        """Answer the next requests with these statuses (429, 500, …), then accept again."""
        planned = [{"status": status, "retry_after": retry_after} for status in statuses]
        self._control("POST", "plan", json=planned)

    def _control(self, method: str, name: str, *, json: object = None) -> httpx.Response:
        url = f"{self.url}/control/{name}"
        return httpx.request(method, url, json=json, auth=(self.account, self.token)).raise_for_status()
