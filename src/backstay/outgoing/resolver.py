"""Looking up the addresses of a name, with the system's resolver."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from typing import Protocol

from backstay.outgoing.errors import SendFailed


class Resolver(Protocol):
    """Finds the addresses of a name."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return every address of the name, best first; raises `SendFailed` if it has no address."""
        ...


class SystemResolver:
    """The resolver of the operating system: hosts file, then DNS."""

    async def addresses(self, host: str, port: int) -> Sequence[str]:
        """Return every address of the name in the order that the system prefers."""
        loop = asyncio.get_running_loop()
        try:
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
        except (OSError, UnicodeError) as error:
            raise SendFailed(host, f"the name cannot be looked up ({error})") from error
        return list(dict.fromkeys(str(sockaddr[0]) for *_, sockaddr in found))
