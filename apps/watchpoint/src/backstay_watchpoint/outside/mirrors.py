"""The mirrors of NOAA's buckets: asked in order until one answers, by listing alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from backstay_watchpoint.domain.layouts import Found, SourceId, prefixes, timestamp_of
from backstay_watchpoint.services.outside import AllMirrorsFailed, MirrorAnswer, MirrorFailure


@dataclass(frozen=True, slots=True)
class Mirror:
    """A place that holds a copy of a source's bucket."""

    name: str
    client: Any
    bucket: str


class MirroredUpstream:
    """Sources with their mirrors in configured order."""

    def __init__(self, mirrors: Mapping[SourceId, Sequence[Mirror]], *, page_size: int = 1000) -> None:
        self._mirrors, self._page_size = mirrors, page_size

    async def check_availability(self, source: SourceId, since: datetime, until: datetime) -> MirrorAnswer:
        """List what a source has after `since`, up to `until`; raises AllMirrorsFailed."""
        failures: list[MirrorFailure] = []
        for mirror in self._mirrors[source]:
            try:
                found = await asyncio.to_thread(self._list, mirror, source, since, until)
            except (ClientError, BotoCoreError, OSError) as error:
                failures.append(MirrorFailure(mirror.name, _reason(error)))
                continue
            return MirrorAnswer(mirror.name, mirror.bucket, tuple(found), tuple(failures))
        raise AllMirrorsFailed(source, failures)

    def _list(self, mirror: Mirror, source: SourceId, since: datetime, until: datetime) -> list[Found]:
        found: dict[datetime, Found] = {}
        for prefix in prefixes(source, since, until):
            for key in self._keys(mirror, prefix):
                at = timestamp_of(source, key)
                if at is not None and since < at <= until:
                    found.setdefault(at, Found(at, key))
        return [found[at] for at in sorted(found)]

    def _keys(self, mirror: Mirror, prefix: str) -> Iterator[str]:
        token: str | None = None
        while True:
            asked: dict[str, Any] = {"Bucket": mirror.bucket, "Prefix": prefix, "MaxKeys": self._page_size}
            if token is not None:
                asked["ContinuationToken"] = token
            page = mirror.client.list_objects_v2(**asked)
            for entry in page.get("Contents", ()):
                yield entry["Key"]
            if not page.get("IsTruncated"):
                return
            token = page["NextContinuationToken"]


def _reason(error: Exception) -> str:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        return f"{error.response['Error'].get('Code', 'error')} (HTTP {status})"
    return type(error).__name__
