"""Objects in a bucket of S3 or of anything that speaks its protocol."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from backstay_parts.optional import need
from backstay_parts.storage.contract import (
    ObjectInfo,
    ObjectNotFound,
    StorageError,
    StorageRefused,
    StorageUnavailable,
    checked,
)

_ABSENT = frozenset({"NoSuchKey", "404", "NotFound"})


class S3Storage:
    """Objects in one bucket, optionally below a prefix; the client's calls run in threads."""

    def __init__(
        self,
        bucket: str,
        *,
        endpoint_url: str | None = None,
        access_key: str | None = None,
        secret_key: str | None = None,
        region: str = "us-east-1",
        prefix: str = "",
        timeout: float = 30.0,
    ) -> None:
        boto3, config = need("boto3", extra="s3"), need("botocore.config", extra="s3")
        self.bucket, self._prefix = bucket, prefix
        self.client: Any = boto3.client(
            "s3",
            endpoint_url=endpoint_url,
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            region_name=region,
            config=config.Config(
                connect_timeout=timeout,
                read_timeout=timeout,
                retries={"total_max_attempts": 1},  # jobs retry; a second layer would hide it
                signature_version="s3v4",
                s3={"addressing_style": "path"},
            ),
        )

    async def put(self, key: str, content: bytes, *, content_type: str = "application/octet-stream") -> None:
        """Store, replacing what was there."""
        await self._call(self.client.put_object, key, Body=content, ContentType=content_type)

    async def get(self, key: str) -> bytes:
        """The content; raises `ObjectNotFound`."""

        def read(**where: Any) -> bytes:
            answer = self.client.get_object(**where)
            with answer["Body"] as body:
                content: bytes = body.read()
            return content

        content: bytes = await self._call(read, key)
        return content

    async def info(self, key: str) -> ObjectInfo | None:
        """What is known of the object; None if there is none."""
        try:
            head = await self._call(self.client.head_object, key)
        except ObjectNotFound:
            return None
        return ObjectInfo(key, head["ContentLength"], head.get("ContentType", "application/octet-stream"))

    async def delete(self, key: str) -> None:
        """Remove the object; a missing one is no error."""
        await self._call(self.client.delete_object, key)

    async def keys(self, prefix: str = "") -> list[str]:
        """All keys that start with the prefix, in order, over as many pages as there are."""

        def list_all() -> list[str]:
            pages = self.client.get_paginator("list_objects_v2").paginate(
                Bucket=self.bucket, Prefix=self._prefix + prefix
            )
            return [
                item["Key"].removeprefix(self._prefix) for page in pages for item in page.get("Contents", [])
            ]

        return sorted(await _in_thread(list_all))

    async def signed_url(self, key: str, *, expires_in: timedelta) -> str:
        """A presigned address of the bucket itself."""
        url: str = self.client.generate_presigned_url(
            "get_object",
            Params={"Bucket": self.bucket, "Key": self._prefix + checked(key)},
            ExpiresIn=int(expires_in.total_seconds()),
        )
        return url

    async def _call(self, method: Callable[..., Any], key: str, **options: Any) -> Any:
        return await _in_thread(
            lambda: method(Bucket=self.bucket, Key=self._prefix + checked(key), **options)
        )


async def _in_thread(call: Callable[[], Any]) -> Any:
    exceptions = need("botocore.exceptions", extra="s3")
    try:
        return await asyncio.to_thread(call)
    except exceptions.ClientError as error:
        raise _translated(error) from error
    except exceptions.BotoCoreError as error:
        raise StorageUnavailable(f"the storage could not be reached: {type(error).__name__}") from error


def _translated(error: Any) -> StorageError:
    code, status = error.response["Error"]["Code"], error.response["ResponseMetadata"]["HTTPStatusCode"]
    if code in _ABSENT:
        return ObjectNotFound("there is no such object")
    if status >= 500 or status == 429:
        return StorageUnavailable(f"the storage answered {status} ({code})")
    return StorageRefused(f"the storage refused with {status} ({code})")
