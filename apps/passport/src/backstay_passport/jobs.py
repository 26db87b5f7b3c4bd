"""The nine job types and one of upkeep, each handed to its module."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from backstay import Backstay, Context, Migrations
from backstay_passport.domain.rules.testing import check_seed
from backstay_passport.export import ExportFormat
from backstay_passport.handlers import (
    build_snapshot,
    compile_passport,
    deliver_webhook,
    export_passport,
    generate_qr,
    ingest_document,
    parse_facts,
    run_rule_tests,
    sign_passport,
    sign_tree_heads,
)
from backstay_passport.profile import profile_of
from backstay_passport.services import Services
from backstay_passport.settings import Settings
from backstay_passport.store.database import Database

MIGRATIONS = Migrations("passport", Path(__file__).parent / "store" / "migrations")


def build(settings: Settings) -> Services:
    """Put the application together; nothing is opened yet."""
    carrier = {} if settings.queue_url is None else {"wakeups": settings.queue_url}
    app = Backstay(
        settings.database_url, profile=profile_of(settings), settings=carrier, migrations=MIGRATIONS
    )
    services = Services(settings, Database(settings.database_url), app)

    @app.job(kind="PARSE_FACTS")
    def parse(ctx: Context, document_version_id: UUID) -> int:
        return parse_facts.run(ctx, services, str(document_version_id))

    @app.job(kind="BUILD_SNAPSHOT")
    def snapshot(ctx: Context, snapshot_id: UUID) -> None:
        build_snapshot.run(ctx, services, str(snapshot_id))

    @app.job(kind="COMPILE_PASSPORT")
    def compiled(ctx: Context, passport_id: UUID, snapshot_id: UUID, rule_package_version_id: UUID) -> str:
        return compile_passport.run(
            ctx, services, str(passport_id), str(snapshot_id), str(rule_package_version_id)
        )

    @app.job(kind="SIGN_PASSPORT")
    def sign(ctx: Context, passport_version_id: UUID) -> None:
        sign_passport.run(ctx, services, str(passport_version_id))

    @app.job(kind="GENERATE_QR")
    def code(ctx: Context, passport_version_id: UUID) -> str:
        return generate_qr.run(ctx, services, str(passport_version_id))

    @app.job(kind="RUN_RULE_TESTS")
    def rule_tests(ctx: Context, rule_package_version_id: UUID, seed: int) -> str:
        return run_rule_tests.run(ctx, services, str(rule_package_version_id), check_seed(seed))

    @app.job(kind="DELIVER_WEBHOOK")
    def webhook(ctx: Context, webhook_delivery_id: UUID) -> int:
        return deliver_webhook.run(ctx, services, str(webhook_delivery_id))

    @app.job(kind="INGEST_DOCUMENT")
    def ingest(ctx: Context, document_id: UUID, file_url: str, mime_type: str) -> str:
        return ingest_document.run(ctx, services, str(document_id), file_url, mime_type)

    @app.job(kind="EXPORT_PASSPORT")
    def export(
        ctx: Context,
        passport_version_id: UUID,
        format: ExportFormat,  # noqa: A002 - the document's name
        destination: str | None = None,
        public: bool = False,
    ) -> str:
        return export_passport.run(
            ctx, services, str(passport_version_id), format, destination, public=public
        )

    @app.schedule("10 2 * * *", name="passport-tree-heads", overlap="skip")
    @app.job(kind="SIGN_TREE_HEADS")
    def heads() -> int:
        return sign_tree_heads.run(services)

    every = (parse, snapshot, compiled, sign, code, rule_tests, webhook, ingest, export, heads)
    services.kinds.update({handler.kind: handler for handler in every})
    return services
