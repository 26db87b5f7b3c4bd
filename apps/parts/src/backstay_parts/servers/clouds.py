"""Private servers of other projects, each a process on a free port: S3 and SQS, Redis, Stripe."""

import secrets
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

from backstay.testing import free_port
from backstay_parts.optional import MissingPart
from backstay_parts.servers.process import ServerProcess, answers_http


class MotoServer(ServerProcess):
    """Amazon's S3, SQS and EventBridge interfaces by moto; what it keeps is in memory.

    Point boto3 at `url` with any key; start several for several clouds.
    """

    access_key = "local"
    secret_key = "local-secret"  # noqa: S105 - moto checks no key
    region = "us-east-1"

    def __init__(self) -> None:
        _need_module("moto", extra="clouds")
        port = free_port()
        argv = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
        super().__init__(argv, port=port, name="moto", is_ready=answers_http("/moto-api/"))


class LocalStripe(ServerProcess):
    """Stripe's interface by localstripe, a program that is only run, never imported."""

    api_key = "sk_test_12345"

    def __init__(self) -> None:
        _need_module("localstripe", extra="clouds")
        port = free_port()
        argv = [sys.executable, "-m", "localstripe", "--from-scratch", "--port", str(port)]
        super().__init__(argv, port=port, name="localstripe", is_ready=answers_http("/"))


class PrivateRedis(ServerProcess):
    """A redis-server with a password and an append-only file in a folder of its own.

    `redis_url` is what clients take. A folder of the caller's keeps the data over `kill` and `start`.
    """

    def __init__(self, *, folder: Path | None = None, config_file: Path | None = None) -> None:
        program = shutil.which("redis-server")
        if program is None:
            raise MissingPart("the program redis-server", advice="install your system's package redis-server")
        port = free_port()
        self.password = secrets.token_hex(16)
        self.redis_url = f"redis://:{self.password}@127.0.0.1:{port}/0"
        super().__init__([], port=port, name="redis")
        self.argv = [program, *([str(config_file)] if config_file else []), *self._options(folder)]

    def _options(self, folder: Path | None) -> list[str]:
        values = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "dir": str(folder or self.folder),
            "requirepass": self.password,
            "appendonly": "yes",
            "maxmemory-policy": "noeviction",
            "daemonize": "no",
            "save": "",
        }
        return [part for name, value in values.items() for part in (f"--{name}", value)]


def _need_module(name: str, *, extra: str) -> None:
    if find_spec(name) is None:
        raise MissingPart(f"the library {name!r}", advice=f"run: pip install 'backstay-parts[{extra}]'")
