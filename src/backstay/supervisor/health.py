"""Reports liveness and readiness of the supervisor: by files, and to systemd."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from backstay.errors import InvalidSettings
from backstay.model.events import Emit, silent


class Health:
    """Keeps `live` and `ready` in a folder: the first is touched again and again, the second is there while ready."""

    def __init__(self, folder: Path | None, environment: Mapping[str, str] = os.environ) -> None:
        self._folder = folder
        self._notify = environment.get("NOTIFY_SOCKET")
        self._is_ready: bool | None = None
        self._is_in_trouble = False
        if folder is not None:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                # What an earlier start left behind says nothing about this one.
                self._remove("ready", "live")
                (folder / "live").touch()
            except OSError as error:
                raise InvalidSettings(f"cannot keep health files in {folder}: {error.strerror}") from error

    def tell(self, *, is_ready: bool, status: str, emit: Emit = silent) -> None:
        """Give a sign of life, and say whether there is a worker that claims jobs.

        Never raises: files that cannot be written are reported by an event, once each time that the trouble begins.
        """
        try:
            self._write(is_ready=is_ready)
        except OSError as error:
            if not self._is_in_trouble:
                emit("health.failed", folder=str(self._folder), error=error.strerror)
            self._is_in_trouble = True
        else:
            self._is_in_trouble = False
        became_ready = is_ready and not self._is_ready
        self._is_ready = is_ready
        self._to_systemd("READY=1" if became_ready else "", "WATCHDOG=1", f"STATUS={status}")

    def leave(self) -> None:
        """Say that no more jobs are claimed."""
        with suppress(OSError):
            self._remove("ready")
        self._to_systemd("STOPPING=1")

    def close(self) -> None:
        """Take every sign of life away."""
        with suppress(OSError):
            self._remove("ready", "live")

    def _write(self, *, is_ready: bool) -> None:
        if self._folder is None:
            return
        # Somebody may have cleared up around it.
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "live").touch()
        if is_ready:
            (self._folder / "ready").touch()
        else:
            self._remove("ready")

    def _remove(self, *names: str) -> None:
        if self._folder is not None:
            for name in names:
                (self._folder / name).unlink(missing_ok=True)

    def _to_systemd(self, *lines: str) -> None:
        if self._notify is None:
            return
        # An address that begins with @ is in the abstract namespace, written with a NUL byte.
        address = "\0" + self._notify[1:] if self._notify.startswith("@") else self._notify
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as service:
            service.sendto("\n".join(filter(None, lines)).encode(), address)
