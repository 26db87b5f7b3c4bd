"""An SMTP server that keeps what it receives: `python -m backstay_parts.mail.server --port N --folder F`.

Each mail is a pair of files, envelope (JSON) and message (.eml). Refusals are read from `refusals.json` for every
recipient: a list of {"recipient", "code", "text", "times"}; `times` null refuses for good.
"""

import argparse
import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

from backstay_parts.optional import need


class Inbox:
    """What the server does with recipients and messages."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._number = len(list(folder.glob("*.json")))
        self._used: dict[str, int] = {}

    async def handle_RCPT(
        self, server: Any, session: Any, envelope: Any, address: str, options: list[str]
    ) -> str:
        """Refuse a recipient where told to."""
        for refusal in self._refusals():
            if refusal["recipient"].lower() == address.lower() and self._take(refusal):
                return f"{refusal['code']} {refusal['text']}"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        """Keep a message; the envelope is renamed into place last, so that a reader never sees half a mail."""
        self._number += 1
        stem = f"{self._number:06d}"
        (self._folder / f"{stem}.eml").write_bytes(envelope.original_content)
        sent = {"sender": envelope.mail_from, "recipients": envelope.rcpt_tos}
        unfinished = self._folder / f"{stem}.part"
        unfinished.write_text(json.dumps(sent), encoding="utf-8")
        unfinished.rename(self._folder / f"{stem}.json")
        return "250 Message accepted for delivery"

    def _refusals(self) -> list[dict[str, Any]]:
        file = self._folder / "refusals" / "refusals.json"
        refusals: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
        return refusals

    def _take(self, refusal: dict[str, Any]) -> bool:
        key = refusal["id"]
        self._used[key] = self._used.get(key, 0) + 1
        return refusal["times"] is None or self._used[key] <= refusal["times"]


async def main() -> None:
    """Serve until told to end."""
    parser = argparse.ArgumentParser(description="An SMTP server that keeps what it receives.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    options = parser.parse_args()
    smtp = need("aiosmtpd.smtp", extra="servers").SMTP
    inbox = Inbox(options.folder)
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    server = await loop.create_server(
        lambda: smtp(inbox, enable_SMTPUTF8=True, data_size_limit=64 * 1024 * 1024, loop=loop),
        "127.0.0.1",
        options.port,
    )
    async with server:
        await ended.wait()
    os._exit(0)  # open connections are the clients' business


if __name__ == "__main__":
    asyncio.run(main())
