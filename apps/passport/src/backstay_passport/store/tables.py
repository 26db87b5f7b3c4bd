"""The tables as SQLAlchemy knows them; on PostgreSQL they live in the schema `passport`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Column, Integer, LargeBinary, MetaData, Table, Text

SCHEMA = "passport"
metadata = MetaData(schema=SCHEMA)


def _id(name: str = "id") -> Column[str]:
    return Column(name, Text, primary_key=True)


def _text(name: str, *, optional: bool = False) -> Column[str]:
    return Column(name, Text, nullable=optional)


def _bytes(name: str, *, optional: bool = False) -> Column[bytes]:
    return Column(name, LargeBinary, nullable=optional)


def _number(name: str, *, optional: bool = False) -> Column[int]:
    return Column(name, Integer, nullable=optional)


def _owned(name: str, *columns: Column[str] | Column[bytes] | Column[int] | Column[bool]) -> Table:
    return Table(name, metadata, _id(), _text("tenant_id"), *columns, _text("created_at"))


tenants = Table("tenants", metadata, _id(), _text("name"), _text("created_at"))
users = _owned(
    "users", _text("name"), _text("password_hash"), _text("role"), _text("revoked_at", optional=True)
)
api_keys = _owned(
    "api_keys",
    _text("name"),
    _text("prefix"),
    _text("digest"),
    _text("role"),
    _text("revoked_at", optional=True),
)
files = _owned("files", _bytes("content"), _text("mime_type"))
documents = _owned("documents", _text("name"), _text("kind", optional=True), _text("job_id", optional=True))
document_versions = _owned(
    "document_versions",
    _text("document_id"),
    _text("kind"),
    _bytes("content"),
    _bytes("content_hash"),
    _text("mime_type"),
    _text("format"),
    _text("status"),
    _text("error", optional=True),
    _text("job_id", optional=True),
)
facts = _owned(
    "facts",
    _text("fact_type"),
    _text("fact_key"),
    _number("schema_version"),
    _text("source_doc_version_id"),
    _bytes("payload_canonical"),
    _bytes("payload_hash"),
)
data_snapshots = _owned(
    "data_snapshots",
    _text("name"),
    _text("status"),
    _bytes("snapshot_hash", optional=True),
    _text("sealed_at", optional=True),
    _text("built_by_job", optional=True),
)
snapshot_items = Table("snapshot_items", metadata, _id("snapshot_id"), _id("fact_id"))
snapshot_secrets = Table("snapshot_secrets", metadata, _id("snapshot_id"), _bytes("secret"))
rule_packages = _owned("rule_packages", _text("name"))
rule_package_versions = _owned(
    "rule_package_versions",
    _text("package_id"),
    _number("version"),
    _text("status"),
    _text("rules_source"),
    _text("tests_source"),
)
rule_tests_runs = _owned(
    "rule_tests_runs",
    _text("rule_package_version_id"),
    Column("seed", BigInteger, nullable=False),
    _number("total_cases"),
    _number("passed_count"),
    _number("failed_count"),
    _text("status"),
    _text("first_failure", optional=True),
    _text("job_id"),
)
battery_products = _owned("battery_products", _text("sku"), _text("gtin", optional=True), _text("name"))
battery_units = _owned(
    "battery_units",
    _text("product_id"),
    _text("serial"),
    _text("gtin"),
    _text("status"),
    _text("data"),
    _text("predecessor_id", optional=True),
)
passports = _owned(
    "passports",
    _text("battery_product_id"),
    _text("battery_unit_id", optional=True),
    _text("active_version_id", optional=True),
)
passport_versions = _owned(
    "passport_versions",
    _text("passport_id"),
    _text("snapshot_id"),
    _text("rule_package_version_id"),
    _bytes("subject_canonical"),
    _bytes("payload_canonical"),
    _bytes("payload_hash"),
    _bytes("proof_canonical"),
    _bytes("proof_root_hash"),
    _bytes("receipt_canonical"),
    _bytes("receipt_hash"),
    _text("compiler_build_id"),
    _text("issued_at"),
    _text("status"),
    _bytes("signature", optional=True),
    _text("signing_key_id", optional=True),
    _bytes("signing_key_public", optional=True),
    _text("qr_payload", optional=True),
    _bytes("qr_png", optional=True),
    _text("job_id"),
)
passport_exports = _owned(
    "passport_exports",
    _text("passport_version_id"),
    _text("format"),
    Column("is_public", Boolean, nullable=False),
    _bytes("content"),
    _bytes("content_hash"),
    _text("destination", optional=True),
    _text("job_id"),
)
events = Table(
    "events",
    metadata,
    _id("event_id"),
    _text("tenant_id"),
    _text("aggregate_type"),
    _text("aggregate_id"),
    _number("aggregate_version"),
    _text("event_type"),
    _text("occurred_at"),
    _text("actor_id", optional=True),
    _bytes("payload_canonical"),
    _bytes("prev_hash"),
    _bytes("hash"),
)
tree_heads = _owned(
    "tree_heads", _bytes("root"), _bytes("ends"), _bytes("signature"), _text("key_id"), _bytes("public_key")
)
webhook_endpoints = _owned("webhook_endpoints", _text("url"), _bytes("secret"), Column("active", Boolean))
webhook_subscriptions = Table("webhook_subscriptions", metadata, _id("endpoint_id"), _id("event_type"))
webhook_deliveries = _owned(
    "webhook_deliveries",
    _text("endpoint_id"),
    _text("event_id"),
    _text("event_type"),
    _bytes("body"),
    _text("status"),
    _number("attempts"),
    _number("http_status", optional=True),
    _text("response_headers", optional=True),
    _bytes("response_body", optional=True),
    _text("error", optional=True),
)
access_tokens = _owned(
    "access_tokens",
    _text("name"),
    _text("audience"),
    _bytes("digest"),
    _text("expires_at", optional=True),
    _text("revoked_at", optional=True),
)
access_log = _owned("access_log", _text("token_id"), _text("passport_id"))
signing_keys = Table("signing_keys", metadata, _id("key_id"), _bytes("public_key"), _text("created_at"))
