"""Every process of the demonstration: servers of others, our server, workers and consumer."""

from __future__ import annotations

import secrets
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from backstay.testing import PrivatePostgres
from backstay_parts.faults import Fault, FaultProxy, access_denied
from backstay_parts.mail import MailServer
from backstay_parts.servers import LocalStripe, MotoServer, ServerProcess, answers_http, free_port

USUAL_PORT = 8810
PROVIDER_KEY = "provider-key"
QUEUES = ("maintenance", "poll", "publish", "mail")


@dataclass(slots=True)
class Stack:
    """What runs, and the environment that leads our processes to it."""

    environment: dict[str, str]
    cloud: MotoServer
    upstream: list[MotoServer]
    mirrors: list[FaultProxy]
    provider: ServerProcess
    stripe: LocalStripe
    mail: MailServer
    web_url: str
    workers: list[ServerProcess]


def start_outside(stack: ExitStack, folder: Path, *, database_url: str | None = None) -> Stack:
    """Start the servers of others, all at once; without a URL a private PostgreSQL server as well."""
    cloud, *upstream = [MotoServer() for _ in range(4)]
    stripe, mail = LocalStripe(), MailServer(folder=folder / "mail")
    with ThreadPoolExecutor() as starting:
        url = starting.submit(lambda: database_url or _postgres_url(stack))
        list(starting.map(stack.enter_context, [cloud, *upstream, stripe, mail]))
    mirrors = [stack.enter_context(FaultProxy.before(server.url)) for server in upstream]
    mirrors[0].mode, mirrors[1].mode = Fault.REFUSE, access_denied()
    port = _web_port()
    web_url = f"http://127.0.0.1:{port}"
    environment = {
        **_own_settings(url.result(), web_url),
        **_addresses(cloud, mirrors, stripe, mail),
        "WEB_PORT": str(port),
    }
    provider = _provider(stack, folder, environment, [cloud, upstream[-1]])
    environment["RUNPOD_URL"] = provider.url
    return Stack(environment, cloud, upstream, mirrors, provider, stripe, mail, web_url, [])


def _web_port() -> int:
    """Return the port that the guide names, or a free one where that is taken."""
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            tried.bind(("127.0.0.1", USUAL_PORT))
        except OSError:
            return free_port()
    return USUAL_PORT


def _postgres_url(stack: ExitStack) -> str:
    server = stack.enter_context(PrivatePostgres.start(fsync=False))
    server.create_database("watchpoint")
    return server.url("watchpoint")


def _own_settings(database_url: str, web_url: str) -> dict[str, str]:
    secret = secrets.token_hex(24)
    return {
        "WATCHPOINT_URL": database_url,
        "BACKSTAY_URL": database_url,
        "WATCHPOINT_SECRET": secrets.token_hex(24),
        "CALLBACK_SECRET": secret,
        "EVENTS_TOKEN": secrets.token_hex(24),
        "OPS_PASSWORD": "watchpoint",
        "SCHEDULES": "off",  # yesterday is told; today's own fires would mix with it
        "RUNPOD_API_KEY": PROVIDER_KEY,
        "RUNPOD_CALLBACK_URL": f"{web_url}/callbacks/runpod/{secret}",
    }


def _addresses(
    cloud: MotoServer, mirrors: list[FaultProxy], stripe: LocalStripe, mail: MailServer
) -> dict[str, str]:
    upstream = ",".join(f"noaa@{mirror.url}" for mirror in mirrors)
    return {
        "AWS_ENDPOINT_URL": cloud.url,
        "AWS_ACCESS_KEY_ID": cloud.access_key,
        "AWS_SECRET_ACCESS_KEY": cloud.secret_key,
        "UPSTREAM_MIRRORS": upstream,
        "GOES_MIRRORS": upstream,
        "MRMS_MIRRORS": upstream,
        "MIRROR_TIMEOUT": "5s",
        "STRIPE_URL": stripe.url,
        "STRIPE_SECRET_KEY": stripe.api_key,
        "SMTP_HOST": mail.host,
        "SMTP_PORT": str(mail.port),
    }


def start_ours(stack: ExitStack, running: Stack, *, workers: int = 2) -> None:
    """Start our server, the consumer and the workers."""
    environment = running.environment
    port = int(environment["WEB_PORT"])
    command = [sys.executable, "-m", "backstay_watchpoint"]
    for number in range(workers):
        running.workers.append(stack.enter_context(start_worker(environment, number)))
    stack.enter_context(_plain([*command, "consume"], "consumer", environment))
    stack.enter_context(
        ServerProcess(
            [*command, "serve", "--port", str(port)],
            port=port,
            name="watchpoint",
            env=environment,
            is_ready=answers_http("/metrics"),
        )
    )


def start_worker(environment: dict[str, str], number: int) -> ServerProcess:
    """Make a worker process for all lanes."""
    argv = [sys.executable, "-m", "backstay", "worker", "backstay_watchpoint.app:app", "--concurrency", "4"]
    return _plain(argv, f"worker-{number}", environment)


def _provider(
    stack: ExitStack, folder: Path, environment: dict[str, str], stores: list[MotoServer]
) -> ServerProcess:
    port = free_port()
    argv = [sys.executable, "-m", "backstay_watchpoint.local.runpod_server", "--port", str(port)]
    return stack.enter_context(
        ServerProcess(
            [*argv, "--folder", str(folder / "provider")],
            port=port,
            name="provider",
            env={
                **environment,
                "PROVIDER_DATABASE_URL": environment["WATCHPOINT_URL"],
                "PROVIDER_ENDPOINTS": ",".join(store.url for store in stores),
            },
            is_ready=answers_http("/local/requests"),
        )
    )


def _plain(argv: list[str], name: str, environment: dict[str, str]) -> ServerProcess:
    """Make a process that listens nowhere; whoever needs it waits for what it does."""
    return ServerProcess(
        argv, port=free_port(), name=name, env=environment, is_ready=lambda server: server.is_running
    )
