"""Puts the handlers on an application object."""

from __future__ import annotations

from pathlib import Path

from backstay import Backstay
from backstay.records import AsyncHandler
from backstay_example.handlers.remind import remind
from backstay_example.store import letters


class Reminders:
    """The application: its jobs, and the file in which jobs and letters are."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.app = Backstay(f"sqlite:///{path}")
        self.remind: AsyncHandler[..., None] = self.app.job(max_attempts=3)(remind)
        letters.prepare(path)

    def letters(self) -> list[str]:
        """Every letter that was written."""
        return letters.all_letters(self.path)
