"""The links of the audit trail's chain: SHA-256 over canonical JSON (RFC 8785), each with the one before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import rfc8785

from backstay.model.audit_chain import FIRST, ChainHead, content
from backstay.model.records import AuditEntry

LARGEST_NUMBER = 2**53 - 1


def linked(heads: Sequence[ChainHead], lines: Sequence[AuditEntry]) -> list[dict[str, object]]:
    """The links of these lines, each tenant's behind its last one."""
    last = {head.tenant: (head.sequence, head.hash) for head in heads}
    links: list[dict[str, object]] = []
    for line in lines:
        sequence, previous = last.get(line.tenant, (0, FIRST))
        digest = link_hash(line.tenant, sequence + 1, previous, line)
        links.append(
            {
                "tenant": line.tenant,
                "sequence": sequence + 1,
                "audit_id": line.id,
                "previous_hash": previous,
                "hash": digest,
            }
        )
        last[line.tenant] = (sequence + 1, digest)
    return links


def link_hash(tenant: str, sequence: int, previous: str, line: AuditEntry) -> str:
    """The hash of one link."""
    return hashlib.sha256(canonical(content(tenant, sequence, previous, line))).hexdigest()


def canonical(value: Any) -> bytes:
    """The one way to write a JSON value; integers that JSON's numbers cannot hold are written as text."""
    return rfc8785.dumps(_within_reach(value))


def _within_reach(value: Any) -> Any:
    match value:
        case bool():
            return value
        case int() if abs(value) > LARGEST_NUMBER:
            return str(value)
        case dict():
            return {name: _within_reach(each) for name, each in value.items()}
        case list() | tuple():
            return [_within_reach(each) for each in value]
        case _:
            return value
