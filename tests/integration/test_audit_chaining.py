"""The audit trail is chained by whoever leads, in canonical JSON, and its checkpoints are signed."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backstay import Backstay
from backstay.cli.checkpoints import checkpoint_of, heads_of
from backstay.errors import InvalidSettings
from backstay.handlers.audit_links import canonical, link_hash
from backstay.model.audit_chain import FIRST
from backstay.model.records import AuditEntry
from backstay.options import JobOptions

PATIENCE = 60
WRITERS = 10


@pytest.fixture
def app(empty_app: Backstay) -> Backstay:
    @empty_app.job
    async def idle() -> None:
        return None

    return empty_app


async def test_a_worker_chains_the_trail_by_itself_while_ten_write(app: Backstay) -> None:
    """ENG-113: nobody runs a command, and the chain of each tenant has no gap."""

    async def write(tenant: str) -> None:
        for _ in range(5):
            job = await app.jobs.enqueue_by_name("idle", {}, JobOptions(tenant=tenant, delay="1h"))
            await app.jobs.hold(job.id, reason="later", by="ann")

    async with asyncio.timeout(PATIENCE), app.working():
        await asyncio.gather(*(write(f"tenant-{number % 3}") for number in range(WRITERS)))
        while (report := await app.audit_chain.verify()).unchained or report.links < 5 * WRITERS:
            await asyncio.sleep(0.05)

    assert report.is_whole
    assert {head.tenant for head in report.heads} >= {"tenant-0", "tenant-1", "tenant-2"}


def test_json_is_written_as_rfc_8785_asks() -> None:
    """The example of the RFC, and a key order that goes by UTF-16."""
    given = {
        "numbers": [333333333.33333329, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\u002f",
        "literals": [None, True, False],
    }

    assert canonical(given).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical({"\ufb33": 1, "\U0001f600": 2}).decode() == '{"\U0001f600":2,"\ufb33":1}'
    assert canonical({"large": 2**60}).decode() == f'{{"large":"{2**60}"}}'


def test_every_part_of_a_line_is_in_its_hash() -> None:
    line = AuditEntry(
        id=7,
        at=datetime(2030, 1, 1, tzinfo=UTC),
        tenant="acme",
        actor="ann",
        action="job.hold",
        job_id=None,
        from_state="available",
        to_state="held",
        reason="later",
        details={"a": 1},
    )
    from dataclasses import replace

    others = [
        replace(line, id=8),
        replace(line, at=line.at + timedelta(microseconds=1)),
        replace(line, actor="ben"),
        replace(line, action="job.release"),
        replace(line, from_state=None),
        replace(line, to_state="available"),
        replace(line, reason=None),
        replace(line, details={"a": 2}),
    ]
    hashes = {link_hash("acme", 1, FIRST, each) for each in [line, *others]}
    hashes |= {link_hash("globex", 1, FIRST, line), link_hash("acme", 2, FIRST, line)}
    hashes.add(link_hash("acme", 1, "1" * 64, line))

    assert len(hashes) == len(others) + 4


def written_keys(folder: Path, name: str) -> tuple[Path, Path]:
    key = Ed25519PrivateKey.generate()
    private, public = folder / f"{name}.pem", folder / f"{name}.pub"
    private.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    public.write_bytes(
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    )
    return private, public


async def test_a_checkpoint_is_taken_only_as_its_key_has_signed_it(app: Backstay, tmp_path: Path) -> None:
    await app.quotas.set(7, tenant="acme", reason="more", by="ann")
    await app.audit_chain.extend()
    heads = await app.audit_chain.heads()
    private, public = written_keys(tmp_path, "ours")
    _, stranger = written_keys(tmp_path, "theirs")
    signed, plain, changed = (tmp_path / name for name in ("signed", "plain", "changed"))
    told = checkpoint_of(heads, private)
    signed.write_text(json.dumps(told))
    plain.write_text(json.dumps(checkpoint_of(heads, None)))
    told["heads"][0]["sequence"] += 1
    changed.write_text(json.dumps(told))

    assert heads_of(signed, public) == heads
    assert heads_of(plain, None) == heads
    assert (await app.audit_chain.verify(heads_of(signed, public))).is_whole
    for path, key, problem in (
        (changed, public, "was changed"),
        (signed, stranger, "another key"),
        (plain, public, "is not signed"),
        (private, None, "no checkpoint"),
        (signed, private, "no public key"),
    ):
        with pytest.raises(InvalidSettings, match=problem):
            heads_of(path, key)
    with pytest.raises(InvalidSettings, match="openssl"):
        checkpoint_of(heads, public)
