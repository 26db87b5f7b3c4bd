"""Files of an archive in a bucket of S3, or of whatever speaks its protocol."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from backstay.errors import ArchiveFailed, InvalidSettings

ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})
OPTIONS = {"endpoint", "region"}


def bucket_behind(url: str) -> Bucket:
    """The bucket of s3://bucket/prefix?endpoint=https://…&region=…; keys are found as boto3 finds them."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    if not parts.netloc or set(options) - OPTIONS:
        raise InvalidSettings(
            f"cannot archive to {url!r}: write s3://bucket/prefix, with ?endpoint=https://… and &region=… where needed"
        )
    try:
        import boto3
        from botocore.config import Config
    except ImportError as error:
        raise InvalidSettings("archives in a bucket need boto3: pip install 'backstay[s3]'") from error
    endpoint = options.get("endpoint", [None])[-1]
    client: Any = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name=options.get("region", [None])[-1],
        # Names of buckets in the host's name are Amazon's own way.
        config=Config(s3={"addressing_style": "path" if endpoint else "auto"}, retries={"mode": "standard"}),
    )
    return Bucket(client, parts.netloc, unquote(parts.path).strip("/"))


class Bucket:
    """One bucket, perhaps below a prefix."""

    def __init__(self, client: Any, name: str, prefix: str) -> None:
        self._client, self._name = client, name
        self._prefix = f"{prefix}/" if prefix else ""

    def write(self, name: str, content: bytes) -> None:
        """Store a file; S3 shows it when it is whole."""
        self._call(self._client.put_object, Key=self._prefix + name, Body=content)

    def read(self, name: str) -> bytes | None:
        """The content of a file."""

        def read(**where: Any) -> bytes:
            with self._client.get_object(**where)["Body"] as body:
                content: bytes = body.read()
            return content

        found: bytes | None = self._call(read, Key=self._prefix + name)
        return found

    def names(self, ending: str) -> list[str]:
        """Every file with this ending, over as many pages as there are."""

        def all_pages(**where: Any) -> list[str]:
            pages = self._client.get_paginator("list_objects_v2").paginate(**where)
            return [one["Key"] for page in pages for one in page.get("Contents", ())]

        keys: list[str] | None = self._call(all_pages, Prefix=self._prefix)
        if keys is None:
            raise ArchiveFailed(f"there is no bucket {self._name!r}: make it, or name another one")
        return sorted(key.removeprefix(self._prefix) for key in keys if key.endswith(ending))

    def _call(self, method: Callable[..., Any], **options: Any) -> Any:
        """Do it; none where there is nothing of that name, which writing to a missing bucket is not."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return method(Bucket=self._name, **options)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            if code in ABSENT or (code == "NoSuchBucket" and "Prefix" in options):
                return None
            raise ArchiveFailed(f"the bucket {self._name!r} refused: {code}") from error
        except BotoCoreError as error:
            raise ArchiveFailed(f"the bucket {self._name!r} cannot be used: {error}") from error
