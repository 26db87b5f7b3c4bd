"""A webhook: somebody is told, by a signed message, that a job has died."""

import asyncio
import json
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

from backstay import Backstay, Hopeless
from backstay.http import WebhookJobs
from backstay.outgoing import StandardWebhooks

received: list[tuple[dict[str, str], bytes]] = []
told = Event()


class Receiver(BaseHTTPRequestHandler):
    """What a customer runs."""

    def do_POST(self) -> None:
        received.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()
        told.set()

    def log_message(self, *_: object) -> None: ...


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
app = Backstay()
# `allow` opens one private address: this example's receiver. Everything else inside of our network stays closed.
WebhookJobs(app, allow=[f"127.0.0.1:{server.server_port}"])


@app.job
async def charge(card: str) -> None:
    raise Hopeless("the card was stolen")


async def main() -> None:
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hooks"
    made = await app.webhooks.create("pager", url, events=["job.dead"])
    await charge.enqueue("4111")
    async with app.working():
        await asyncio.to_thread(told.wait, 30)
    headers, body = received[0]
    StandardWebhooks(made.secret).verify(headers, body, now=datetime.now(UTC))
    print(json.loads(body)["type"], "was told and its signature holds")
    server.shutdown()
    server.server_close()
    await app.close()


asyncio.run(main())
