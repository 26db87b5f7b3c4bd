"""A private SMTP server as a process, and what arrived in it."""

import email
import email.policy
import json
import secrets
import sys
import time
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path

from backstay.testing import free_port
from backstay_parts.servers.process import ServerProcess

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ReceivedMail:
    """A mail as the server received it."""

    sender: str
    recipients: tuple[str, ...]
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        """The parsed message."""
        parsed = email.message_from_bytes(self.raw, policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        return parsed

    @property
    def subject(self) -> str:
        """The subject, decoded."""
        return str(self.message["Subject"])

    @property
    def text(self) -> str:
        """The plain text, decoded; lines end as in Python."""
        body = self.message.get_body(("plain",))
        return str(body.get_content()).replace("\r\n", "\n") if body is not None else ""

    @property
    def attachments(self) -> dict[str, bytes]:
        """The attached files by name."""
        parts = self.message.iter_attachments()
        return {str(part.get_filename()): bytes(part.get_payload(decode=True)) for part in parts}


class MailServer(ServerProcess):
    """An SMTP server on a free port; `host` and `port` for the sender, `mails()` for the reader.

    A folder of the caller's keeps the mails over `kill` and `start` and after the end (`*.eml`).
    """

    def __init__(self, *, folder: Path | None = None) -> None:
        port = free_port()
        super().__init__([], port=port, name="smtp")
        self.mail_folder = folder or self.folder / "mail"
        (self.mail_folder / "refusals").mkdir(parents=True, exist_ok=True)
        self.argv = [
            *(sys.executable, "-m", "backstay_parts.mail.server"),
            *("--port", str(port), "--folder", str(self.mail_folder)),
        ]

    def mails(self, *, to: str | None = None) -> list[ReceivedMail]:
        """What has arrived, in order; of one recipient only if asked."""
        found = [_load(file) for file in sorted(self.mail_folder.glob("*.json"))]
        return [mail for mail in found if to is None or to.lower() in map(str.lower, mail.recipients)]

    def wait_for(self, count: int, *, to: str | None = None, timeout: float = 30.0) -> list[ReceivedMail]:
        """The mails as soon as there are that many; raises `TimeoutError`."""
        deadline = time.monotonic() + timeout
        while len(found := self.mails(to=to)) < count:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} mails arrived within {timeout:g} seconds")
            time.sleep(_POLL_SECONDS)
        return found

    def clear(self) -> None:
        """Forget what has arrived."""
        for file in [*self.mail_folder.glob("*.json"), *self.mail_folder.glob("*.eml")]:
            file.unlink()

    def refuse(
        self, recipient: str, code: int, text: str = "Mailbox unavailable", *, times: int | None = None
    ) -> None:
        """Refuse a recipient with the code, as often as said, else for good."""
        file = self.mail_folder / "refusals" / "refusals.json"
        known = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        known.append(
            {"id": secrets.token_hex(8), "recipient": recipient, "code": code, "text": text, "times": times}
        )
        unfinished = file.with_suffix(".part")
        unfinished.write_text(json.dumps(known), encoding="utf-8")
        unfinished.rename(file)

    def accept_all(self) -> None:
        """Refuse nobody any more."""
        (self.mail_folder / "refusals" / "refusals.json").unlink(missing_ok=True)


def _load(file: Path) -> ReceivedMail:
    envelope = json.loads(file.read_text(encoding="utf-8"))
    return ReceivedMail(
        envelope["sender"], tuple(envelope["recipients"]), file.with_suffix(".eml").read_bytes()
    )
