"""The blocking twin of the archive, for code without an event loop.

Written by tools/generate_sync.py from the asynchronous one; do not edit.
"""

from __future__ import annotations

from backstay.client.sync.app import App
from backstay.client.sync_loop import SyncLoop
from backstay.model.archive import ArchiveCheck, Archived, ArchiveFile, Restored
from backstay.model.text.durations import Duration


class SyncArchive:
    """The archive of one application, by blocking calls.

    `to` and `place` name a folder or a bucket; where they are left out, the setting `archive_to` counts."""

    def __init__(self, app: App, loop: SyncLoop) -> None:
        self._app, self._loop = app, loop

    def run(self, *, to: str | None = None, older_than: Duration | None = None) -> Archived:
        """Write finished jobs that were kept long enough, verify what was written, and remove them.

        `older_than` counts for all of them, instead of the policy's `keep_completed`, `keep_cancelled` and
        `keep_resolved`. Raises ArchiveFailed, and removes nothing, where the place cannot be used.
        """
        return self._loop.run(
            lambda: self._app.archive.run(to=to, older_than=older_than), name="sync.archive.run"
        )

    def files(self, *, place: str | None = None) -> list[ArchiveFile]:
        """Every file, the oldest first, as its manifest tells."""
        return self._loop.run(lambda: self._app.archive.files(place=place), name="sync.archive.files")

    def verify(self, name: str | None = None, *, place: str | None = None) -> list[ArchiveCheck]:
        """Read a file, or all of them, and hold them against what their manifests say."""
        return self._loop.run(lambda: self._app.archive.verify(name, place=place), name="sync.archive.verify")

    def restore(self, name: str, *, place: str | None = None) -> Restored:
        """Put the jobs of a file back as they were; jobs that are there stay as they are.

        Raises ArchiveFailed, and stores nothing, where the file is not what its manifest says. Where workers keep
        this database in order they remove the jobs again when they next look, because they have been kept long enough.
        """
        return self._loop.run(
            lambda: self._app.archive.restore(name, place=place), name="sync.archive.restore"
        )
