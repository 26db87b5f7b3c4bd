"""A signed webhook: sent where somebody else says, checked by its receiver, never sent into our own network."""

import asyncio
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from backstay.outgoing import (
    OutgoingError,
    Sender,
    SignatureRefused,
    StandardWebhooks,
    TargetRefused,
    webhook_secret,
)

SECRET = webhook_secret(b"thirty-two bytes: only an example")


class Receiver(BaseHTTPRequestHandler):
    """What a customer runs."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            message = StandardWebhooks(SECRET).verify(dict(self.headers), body, now=datetime.now(UTC))
            print("received", message, body.decode())
            self.send_response(204)
        except SignatureRefused as error:
            print("refused:", error)
            self.send_response(401)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


async def deliver(sender: Sender, url: str, body: bytes) -> None:
    """Send one webhook, and say what a job would do about an error."""
    signed = StandardWebhooks(SECRET).headers("msg_battery_17", datetime.now(UTC), body)
    try:
        answer = await sender.post(url, body, headers={"Content-Type": "application/json", **signed})
        print("answered", answer.raise_for_status().status)
    except OutgoingError as error:
        print("give up:" if error.permanent else "try again:", type(error).__name__)


async def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]

    # `allow` opens one private target: this example's receiver. Everything else stays closed.
    async with Sender(allow=[f"127.0.0.1:{port}"], timeout=timedelta(seconds=30)) as sender:
        await deliver(sender, f"http://127.0.0.1:{port}/hooks", b'{"battery": 17}')
        await deliver(sender, "http://169.254.169.254/latest/meta-data/", b"{}")
        await deliver(sender, "https://0x7f.1/", b"{}")
        try:
            await sender.post("https://localhost/", b"")
        except TargetRefused as refused:
            print(refused.reason)
    server.shutdown()
    server.server_close()


asyncio.run(main())
