"""Rule packages, their versions and their test runs."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, func, select

from backstay_passport.domain.errors import NotFound
from backstay_passport.domain.lifecycle import RuleStatus, check_rule_move
from backstay_passport.domain.rules.testing import SuiteResult
from backstay_passport.store.rows import add, change, find
from backstay_passport.store.tables import rule_package_versions, rule_packages, rule_tests_runs


def add_version(
    connection: Connection, tenant_id: str, name: str, rules_source: str, tests_source: str
) -> str:
    """Store a new DRAFT version of a package, which is made if it is new."""
    package_id = connection.execute(
        select(rule_packages.c.id).where(rule_packages.c.tenant_id == tenant_id, rule_packages.c.name == name)
    ).scalar_one_or_none() or add(connection, rule_packages, tenant_id, name=name)
    newest = connection.execute(
        select(func.max(rule_package_versions.c.version)).where(
            rule_package_versions.c.package_id == package_id
        )
    ).scalar_one()
    return add(
        connection,
        rule_package_versions,
        tenant_id,
        package_id=package_id,
        version=(newest or 0) + 1,
        status=RuleStatus.DRAFT,
        rules_source=rules_source,
        tests_source=tests_source,
    )


def version(connection: Connection, tenant_id: str, version_id: str) -> RowMapping:
    """Return a rule package version."""
    return find(connection, rule_package_versions, tenant_id, version_id, "rule package version")


def named_version(connection: Connection, tenant_id: str, version_id: str) -> RowMapping:
    """Return a rule package version with its package's name."""
    query = (
        select(rule_package_versions, rule_packages.c.name)
        .join(rule_packages, rule_packages.c.id == rule_package_versions.c.package_id)
        .where(rule_package_versions.c.tenant_id == tenant_id, rule_package_versions.c.id == version_id)
    )
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        raise NotFound("rule package version", version_id)
    return row


def set_status(connection: Connection, tenant_id: str, version_id: str, status: RuleStatus) -> None:
    """Move a version along an arrow."""
    check_rule_move(version_id, version(connection, tenant_id, version_id)["status"], status)
    change(connection, rule_package_versions, version_id, status=status)


def update_draft(connection: Connection, version_id: str, rules_source: str, tests_source: str) -> None:
    """Write a draft anew; the database refuses it for other versions."""
    change(
        connection, rule_package_versions, version_id, rules_source=rules_source, tests_source=tests_source
    )


def add_run(
    connection: Connection, tenant_id: str, *, version_id: str, seed: int, result: SuiteResult, job_id: str
) -> str:
    """Store a test run."""
    first = result.first_failure
    return add(
        connection,
        rule_tests_runs,
        tenant_id,
        rule_package_version_id=version_id,
        seed=seed,
        total_cases=result.total_cases,
        passed_count=result.passed_count,
        failed_count=result.failed_count,
        status=result.status,
        first_failure=None if first is None else json.dumps(first.as_json()),
        job_id=job_id,
    )


def versions(connection: Connection, tenant_id: str) -> Sequence[RowMapping]:
    """Return all versions with their packages' names, newest first."""
    query = (
        select(rule_package_versions, rule_packages.c.name)
        .join(rule_packages, rule_packages.c.id == rule_package_versions.c.package_id)
        .where(rule_package_versions.c.tenant_id == tenant_id)
        .order_by(rule_package_versions.c.created_at.desc())
    )
    return connection.execute(query).mappings().all()


def runs(connection: Connection, tenant_id: str, version_id: str) -> Sequence[RowMapping]:
    """Return the test runs of a version, newest first."""
    query = select(rule_tests_runs).where(
        rule_tests_runs.c.tenant_id == tenant_id, rule_tests_runs.c.rule_package_version_id == version_id
    )
    return connection.execute(query.order_by(rule_tests_runs.c.created_at.desc())).mappings().all()


def published(connection: Connection, tenant_id: str) -> str | None:
    """Return the newest published version of any package."""
    query = select(rule_package_versions.c.id).where(
        rule_package_versions.c.tenant_id == tenant_id, rule_package_versions.c.status == RuleStatus.PUBLISHED
    )
    return connection.execute(
        query.order_by(rule_package_versions.c.created_at.desc()).limit(1)
    ).scalar_one_or_none()
