"""Ports for private servers."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

LOWEST, HIGHEST = 15_000, 32_000
"""Below the ports that a system gives to outgoing connections, so that a restarted server finds its port free."""

_TRIES = 200


def free_port() -> int:
    """Return a port of the loopback address that was free a moment ago, and that no outgoing connection is given."""
    drawn = random.SystemRandom()
    for _ in range(_TRIES):
        port = drawn.randint(LOWEST, HIGHEST)
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no free port found between {LOWEST} and {HIGHEST} in {_TRIES} tries")
