"""Network namespaces, one for each worker, so that each comes to the servers from an address of its own.

They hang on one bridge of this machine; needs root and iproute2. Addresses are of 198.18.0.0/15, which is kept for
measurements and used by nobody.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

BRIDGE = "bsbench"
SERVER = "198.18.0.1"
NETWORK = "198.18.0.0/16"


class NoNamespaces(Exception):
    """This machine gives us none; the text says why."""


class Namespaces:
    """So many namespaces, made when entered and removed when left."""

    def __init__(self, number: int) -> None:
        self.names = [f"bsbench{at}" for at in range(number)]

    def __enter__(self) -> Namespaces:
        if os.geteuid() != 0 or shutil.which("ip") is None:
            raise NoNamespaces("network namespaces need root and the command ip of iproute2")
        self._remove()
        try:
            _ip("link", "add", BRIDGE, "type", "bridge")
            _ip("addr", "add", f"{SERVER}/16", "dev", BRIDGE)
            _ip("link", "set", BRIDGE, "up")
            for at, name in enumerate(self.names):
                self._add(at, name)
        except BaseException:
            self._remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove()

    def command(self, at: int, words: Sequence[str]) -> list[str]:
        """What runs a command in one of them."""
        return ["ip", "netns", "exec", self.names[at], *words]

    def _add(self, at: int, name: str) -> None:
        outside = f"{BRIDGE}{at}"
        _ip("netns", "add", name)
        _ip("link", "add", outside, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("link", "set", outside, "master", BRIDGE, "up")
        _ip("-n", name, "addr", "add", f"198.18.{1 + at // 250}.{1 + at % 250}/16", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", name, "link", "set", device, "up")

    def _remove(self) -> None:
        """Also what a run that was killed has left."""
        for name in self.names:
            # The pair of devices goes with the namespace.
            _ip("netns", "del", name, must=False)
        _ip("link", "del", BRIDGE, must=False)


def _ip(*words: str, must: bool = True) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if must and done.returncode != 0:
        raise NoNamespaces(f"ip {' '.join(words)}: {done.stderr.strip()}")
