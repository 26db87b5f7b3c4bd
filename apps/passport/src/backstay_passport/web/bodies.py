"""The bodies of requests to the API."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from pydantic import Field

from backstay.kit import StrictModel
from backstay_passport.export import ExportFormat


class NewSnapshot(StrictModel):
    """A snapshot to be made; with `newest` it gets the newest fact of each type and key."""

    name: str = Field(min_length=1, max_length=200)
    newest: bool = False


class SnapshotItems(StrictModel):
    """Facts to be added, one by one or by the document version that they were read from."""

    fact_ids: list[str] = Field(default_factory=list)
    document_version_ids: list[str] = Field(default_factory=list)


class NewRules(StrictModel):
    """Rules and their tests."""

    rules_source: str = Field(max_length=262_144)
    tests_source: str = Field(max_length=262_144)


class TestRun(StrictModel):
    """A test run."""

    __test__ = False
    seed: int = 1


class NewProduct(StrictModel):
    """A battery model."""

    sku: str = Field(min_length=1, max_length=80)
    gtin: str | None = None
    name: str = ""


class NewUnit(StrictModel):
    """A single battery; decimals in its data are texts."""

    serial: str = Field(min_length=1, max_length=20)
    data: dict[str, Any] = Field(default_factory=dict)


class NewLife(StrictModel):
    """What a battery has become."""

    status: str = Field(max_length=40)
    serial: str = Field(min_length=1, max_length=20)
    data: dict[str, Any] = Field(default_factory=dict)


class UnitChange(StrictModel):
    """What is new about a battery."""

    data: dict[str, Any]


class NewPassport(StrictModel):
    """A passport of a battery, or of a model if no battery is given."""

    product_id: UUID
    unit_id: UUID | None = None


class CompileRequest(StrictModel):
    """From what a version is to be made."""

    snapshot_id: UUID
    rule_package_version_id: UUID


class CompileModel(StrictModel):
    """From what versions are to be made, the newest if nothing is named; of the model, or of all its batteries."""

    snapshot_id: UUID | None = None
    rule_package_version_id: UUID | None = None
    batteries: bool = False


class Revocation(StrictModel):
    """Why a version is revoked."""

    reason: str = Field(min_length=1, max_length=500)


class ExportRequest(StrictModel):
    """An export."""

    format: ExportFormat
    public: bool = False
    destination: str | None = None


class VerifyRequest(StrictModel):
    """A scanned text."""

    text: str = Field(max_length=2000)


class FileAddress(StrictModel):
    """A document that lies somewhere already: `file:///…` below the files' folder, or `s3://bucket/key`."""

    file_url: str = Field(max_length=2000)
    name: str = Field(default="", max_length=300)
    kind: str = ""
    mime_type: str = Field(default="application/octet-stream", max_length=200)


class NewToken(StrictModel):
    """A token for a partner; without days it has no end."""

    name: str = Field(min_length=1, max_length=100)
    audience: str = Field(max_length=20)
    days: int | None = Field(default=None, ge=1, le=3650)


class NewKey(StrictModel):
    """A key for a program."""

    name: str = Field(min_length=1, max_length=100)
    role: str = Field(default="maker", max_length=20)


class NewWebhook(StrictModel):
    """A webhook endpoint; without event types it gets all."""

    url: str = Field(max_length=2000)
    event_types: list[str] = Field(default_factory=list)
