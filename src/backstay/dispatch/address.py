"""The address of a Redis, and what its keys begin with."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit


def take_prefix(url: str, otherwise: str) -> tuple[str, str]:
    """The address without `?prefix=…`, and what keys begin with."""
    parts = urlsplit(url)
    given = parse_qs(parts.query, keep_blank_values=True).get("prefix")
    query = "&".join(part for part in parts.query.split("&") if part and not part.startswith("prefix="))
    return parts._replace(query=query).geturl(), otherwise if given is None else given[-1]
