"""Buckets by S3's interface."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from backstay_watchpoint.domain.retention import S3_DELETE_BATCH
from backstay_watchpoint.services.outside import StorageError, StoredObject

COLD_CLASS = "GLACIER"
RESTORE_DAYS = 1
_MISSING = ("404", "NoSuchKey", "NotFound")
_POLL_SECONDS = 1.0


class S3Objects:
    """Objects by boto3, whose blocking calls run in threads."""

    def __init__(self, client: Any, *, restore_timeout: float = 60.0, page_size: int = 1000) -> None:
        self._client, self._restore_timeout, self._page_size = client, restore_timeout, page_size

    async def exists(self, bucket: str, key: str) -> bool:
        """Tell whether an object is there, by HEAD; raises StorageError."""
        try:
            await asyncio.to_thread(self._client.head_object, Bucket=bucket, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in _MISSING:
                return False
            raise _storage_error("HEAD", bucket, key, error) from error
        except BotoCoreError as error:
            raise _storage_error("HEAD", bucket, key, error) from error
        return True

    async def listing(self, bucket: str, prefix: str) -> AsyncIterator[StoredObject]:
        """List the objects with a prefix, page by page; raises StorageError."""
        token: str | None = None
        while True:
            asked: dict[str, Any] = {"Bucket": bucket, "Prefix": prefix, "MaxKeys": self._page_size}
            if token is not None:
                asked["ContinuationToken"] = token
            page = await self._call("LIST", bucket, prefix, self._client.list_objects_v2, **asked)
            for found in page.get("Contents", ()):
                yield StoredObject(found["Key"], found["Size"])
            if not page.get("IsTruncated"):
                return
            token = page["NextContinuationToken"]

    async def delete_many(self, bucket: str, keys: Sequence[str]) -> list[str]:
        """Delete at most 1,000 objects and return the keys that could not be; raises StorageError."""
        if len(keys) > S3_DELETE_BATCH:
            raise ValueError(f"at most {S3_DELETE_BATCH} objects at once, not {len(keys)}")
        if not keys:
            return []
        asked = {"Objects": [{"Key": key} for key in keys], "Quiet": True}
        answer = await self._call(
            "DELETE", bucket, keys[0], self._client.delete_objects, Bucket=bucket, Delete=asked
        )
        return [error["Key"] for error in answer.get("Errors", ())]

    async def put(self, bucket: str, key: str, body: bytes) -> None:
        """Store an object; raises StorageError."""
        await self._call("PUT", bucket, key, self._client.put_object, Bucket=bucket, Key=key, Body=body)

    async def get(self, bucket: str, key: str) -> bytes:
        """Read an object; raises StorageError."""
        answer = await self._call("GET", bucket, key, self._client.get_object, Bucket=bucket, Key=key)
        body: bytes = await asyncio.to_thread(answer["Body"].read)
        return body

    async def put_cold(self, bucket: str, key: str, body: bytes) -> None:
        """Store an object in the cold tier; raises StorageError."""
        put = self._client.put_object
        await self._call("PUT", bucket, key, put, Bucket=bucket, Key=key, Body=body, StorageClass=COLD_CLASS)

    async def get_cold(self, bucket: str, key: str) -> bytes:
        """Ask for an object of the cold tier, wait until it is back, and read it; raises StorageError."""
        head = await self._call("HEAD", bucket, key, self._client.head_object, Bucket=bucket, Key=key)
        if head.get("StorageClass") == COLD_CLASS and 'ongoing-request="false"' not in head.get(
            "Restore", ""
        ):
            if "Restore" not in head:
                asked = {"Days": RESTORE_DAYS, "GlacierJobParameters": {"Tier": "Standard"}}
                restore = self._client.restore_object
                await self._call(
                    "RESTORE", bucket, key, restore, Bucket=bucket, Key=key, RestoreRequest=asked
                )
            await self._wait_until_back(bucket, key)
        return await self.get(bucket, key)

    async def _wait_until_back(self, bucket: str, key: str) -> None:
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._restore_timeout
        while True:
            head = await self._call("HEAD", bucket, key, self._client.head_object, Bucket=bucket, Key=key)
            if 'ongoing-request="false"' in head.get("Restore", ""):
                return
            if loop.time() > deadline:
                raise StorageError(
                    f"{key} is still being brought back from the cold tier: try again in some hours"
                )
            await asyncio.sleep(_POLL_SECONDS)

    async def _call(self, verb: str, bucket: str, key: str, method: Any, **asked: Any) -> Any:
        try:
            return await asyncio.to_thread(method, **asked)
        except (ClientError, BotoCoreError) as error:
            raise _storage_error(verb, bucket, key, error) from error


def _storage_error(verb: str, bucket: str, key: str, error: Exception) -> StorageError:
    return StorageError(f"{verb} {bucket}/{key}: {error}")
