"""Private servers on free ports of the loopback address, each ended with the process that started it."""

from backstay.testing import free_port
from backstay_parts.servers.clouds import LocalStripe, MotoServer, PrivateRedis
from backstay_parts.servers.model import ModelServer
from backstay_parts.servers.process import ServerDidNotStart, ServerProcess, answers_http

__all__ = [
    "LocalStripe",
    "ModelServer",
    "MotoServer",
    "PrivateRedis",
    "ServerDidNotStart",
    "ServerProcess",
    "answers_http",
    "free_port",
]
