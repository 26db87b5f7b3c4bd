"""Files of an archive in a folder."""

from __future__ import annotations

import os
from pathlib import Path

from backstay.errors import ArchiveFailed

UNFINISHED = ".part"


class Folder:
    """Writes each file beside its place first, so that nobody sees a part of one."""

    def __init__(self, path: str) -> None:
        self._root = Path(path).expanduser().absolute()

    def write(self, name: str, content: bytes) -> None:
        """Store a file that a power cut does not take away."""
        place = self._root / name
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            unfinished = place.with_name(f"{place.name}.{os.getpid()}{UNFINISHED}")
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(place)
            self._sync(place.parent)
        except OSError as error:
            raise ArchiveFailed(f"cannot write {place}: {error.strerror}") from error

    def read(self, name: str) -> bytes | None:
        """The content of a file."""
        try:
            return (self._root / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ArchiveFailed(f"cannot read {self._root / name}: {error.strerror}") from error

    def names(self, ending: str) -> list[str]:
        """Every file with this ending, below the folder."""
        try:
            return sorted(path.relative_to(self._root).as_posix() for path in self._root.rglob(f"*{ending}"))
        except OSError as error:
            raise ArchiveFailed(f"cannot look into {self._root}: {error.strerror}") from error

    def _sync(self, folder: Path) -> None:
        """Make the names durable too, those of new folders included."""
        while folder.is_relative_to(self._root):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
            folder = folder.parent
