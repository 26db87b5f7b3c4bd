"""How clients of Amazon's interfaces are made: short timeouts, few retries, an address of one's own."""

from __future__ import annotations

from functools import cached_property
from typing import Any


class LazyClient:
    """A client that is made when it is first used.

    The library takes half a second to import and a client a tenth to make; most commands need neither.
    """

    def __init__(self, service: str, *, config: dict[str, Any], **given: Any) -> None:
        self._service, self._config, self._given = service, config, given

    @cached_property
    def _client(self) -> Any:
        import boto3
        from botocore.config import Config

        make: Any = boto3.client
        return make(self._service, config=Config(**self._config), **self._given)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)


def s3_client(
    endpoint_url: str | None,
    *,
    region: str,
    access_key: str,
    secret_key: str,
    timeout: float = 10.0,
    attempts: int = 3,
) -> LazyClient:
    """Return a client for buckets; path addressing works with every server."""
    return LazyClient(
        "s3",
        endpoint_url=endpoint_url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config={
            "connect_timeout": timeout,
            "read_timeout": timeout,
            "retries": {"total_max_attempts": attempts, "mode": "standard"},
            "s3": {"addressing_style": "path"},
        },
    )


def sqs_client(endpoint_url: str | None, *, region: str, access_key: str, secret_key: str) -> LazyClient:
    """Return a client for queues; the read timeout is longer than a long poll."""
    return LazyClient(
        "sqs",
        endpoint_url=endpoint_url,
        region_name=region,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config={
            "connect_timeout": 10,
            "read_timeout": 30,
            "retries": {"total_max_attempts": 3, "mode": "standard"},
        },
    )
