"""Rule packages: new versions, test runs, publishing."""

from __future__ import annotations

from backstay_passport.domain.errors import InvalidInput, InvalidRuleStatus
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import RuleStatus
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.suite import parse_suite
from backstay_passport.domain.rules.testing import check_seed
from backstay_passport.services import Services
from backstay_passport.store import rules


def add_version(
    services: Services, tenant_id: str, rules_source: str, tests_source: str, actor: str | None = None
) -> str:
    """Store a new draft; rules or tests with errors are refused with line and column."""
    checked = check_rules(rules_source)
    parse_suite(tests_source, checked)
    name = checked.package.name
    with services.database.begin() as connection:
        version_id = rules.add_version(connection, tenant_id, name, rules_source, tests_source)
        told = NewEvent("RulePackageVersion", version_id, "RULES_DRAFTED", {"name": name}, actor)
        services.tell(connection, tenant_id, told)
    return version_id


def rewrite_draft(
    services: Services,
    tenant_id: str,
    version_id: str,
    rules_source: str,
    tests_source: str,
    actor: str | None = None,
) -> None:
    """Write a draft anew, checked like a new one; its package keeps its name."""
    checked = check_rules(rules_source)
    parse_suite(tests_source, checked)
    with services.database.begin() as connection:
        row = rules.named_version(connection, tenant_id, version_id)
        if row["status"] != RuleStatus.DRAFT:
            raise InvalidRuleStatus(version_id, RuleStatus.DRAFT, row["status"])
        if row["name"] != checked.package.name:
            raise InvalidInput(
                f"the package is called {row['name']}; store other rules as a draft of their own"
            )
        rules.update_draft(connection, version_id, rules_source, tests_source)
        told = NewEvent("RulePackageVersion", version_id, "RULES_REWRITTEN", {}, actor)
        services.tell(connection, tenant_id, told)


def run_tests(services: Services, tenant_id: str, version_id: str, seed: int) -> str:
    """Ask for a test run and return the job's id."""
    check_seed(seed)
    with services.database.begin() as connection:
        rules.version(connection, tenant_id, version_id)
        job = services.enqueue(
            "RUN_RULE_TESTS", tenant_id, tx=connection, rule_package_version_id=version_id, seed=seed
        )
    return str(job.id)


def publish(services: Services, tenant_id: str, version_id: str, actor: str | None = None) -> None:
    """Publish a validated version; from now on it never changes."""
    _move(services, tenant_id, version_id, RuleStatus.PUBLISHED, "RULES_PUBLISHED", actor)


def deprecate(services: Services, tenant_id: str, version_id: str, actor: str | None = None) -> None:
    """Let a published version make no more passports; those that it made stay."""
    _move(services, tenant_id, version_id, RuleStatus.DEPRECATED, "RULES_DEPRECATED", actor)


def retire(services: Services, tenant_id: str, version_id: str, actor: str | None = None) -> None:
    """Put a deprecated version away for good."""
    _move(services, tenant_id, version_id, RuleStatus.RETIRED, "RULES_RETIRED", actor)


def _move(
    services: Services,
    tenant_id: str,
    version_id: str,
    status: RuleStatus,
    event_type: str,
    actor: str | None,
) -> None:
    with services.database.begin() as connection:
        rules.set_status(connection, tenant_id, version_id, status)
        services.tell(
            connection, tenant_id, NewEvent("RulePackageVersion", version_id, event_type, {}, actor)
        )
