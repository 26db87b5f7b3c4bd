"""From whole jobs to the bytes of a file and its manifest, and back."""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from backstay.errors import ArchiveFailed
from backstay.model.archive import FORMAT, JOBS, ArchiveFile
from backstay.settings.version import __version__
from backstay.stores.contract.archive import WholeJob

DATA, MANIFEST = ".jsonl.gz", ".manifest.json"


def pack(jobs: Sequence[WholeJob]) -> bytes:
    """A line of JSON for each job, compressed; the same jobs make the same bytes."""
    return gzip.compress("".join(map(_line, jobs)).encode(), mtime=0)


def size_of(job: WholeJob) -> int:
    """How much a job takes of a file before it is compressed, a letter counted as a byte."""
    return len(_line(job))


def _line(job: WholeJob) -> str:
    return json.dumps(job, ensure_ascii=False, separators=(",", ":")) + "\n"


def unpack(name: str, content: bytes) -> list[WholeJob]:
    """The jobs of a file; raises ArchiveFailed where it is not one."""
    try:
        # Not splitlines(): texts may hold other separators of lines, which JSON leaves as they are.
        return [json.loads(line) for line in gzip.decompress(content).decode().split("\n")[:-1]]
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise ArchiveFailed(f"the file {name}{DATA} of the archive cannot be read: {error}") from error


def describe(jobs: Sequence[WholeJob], content: bytes, made_at: datetime) -> ArchiveFile:
    """What there is to say about a file of these jobs."""
    own = [job[JOBS][0] for job in jobs]
    digest = hashlib.sha256(content).hexdigest()
    rows: Counter[str] = Counter()
    for job in jobs:
        rows.update({table: len(found) for table, found in job.items()})
    return ArchiveFile(
        # By its bytes: two runs that overlap cannot write over each other's file.
        name=f"{made_at:%Y/%m/%d}/{own[0]['id']}-{digest[:12]}",
        jobs=len(jobs),
        states=dict(Counter(job["state"] for job in own)),
        rows=dict(rows),
        first=own[0]["id"],
        last=own[-1]["id"],
        size=len(content),
        sha256=digest,
        made_at=made_at,
        release=__version__,
    )


def to_manifest(file: ArchiveFile) -> bytes:
    """The manifest of a file."""
    told = asdict(file) | {"made_at": file.made_at.isoformat()}
    return (json.dumps(told, indent=2) + "\n").encode()


def from_manifest(name: str, content: bytes) -> ArchiveFile:
    """Read a manifest; raises ArchiveFailed if it is malformed or of a newer form."""
    try:
        told: dict[str, Any] = json.loads(content)
        file = ArchiveFile(**{**told, "made_at": datetime.fromisoformat(told["made_at"])})
    except (ValueError, KeyError, TypeError) as error:
        raise ArchiveFailed(f"{name}{MANIFEST} is no manifest of an archive: {error}") from error
    if file.format > FORMAT:
        raise ArchiveFailed(f"{name}{MANIFEST} is of format {file.format}: a newer Backstay reads it")
    return file


def problem_of(file: ArchiveFile, content: bytes | None) -> str | None:
    """Why these bytes are not what the manifest says; none where they are."""
    if content is None:
        return "the file is gone"
    if len(content) != file.size:
        return f"it has {len(content):,} bytes, not {file.size:,}"
    if hashlib.sha256(content).hexdigest() != file.sha256:
        return "its bytes are not those that were written"
    jobs = unpack(file.name, content)
    return None if len(jobs) == file.jobs else f"it has {len(jobs):,} jobs, not {file.jobs:,}"
