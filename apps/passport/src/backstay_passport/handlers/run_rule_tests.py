"""RUN_RULE_TESTS: run the tests of a rule package version; 500 that hold validate it."""

from __future__ import annotations

from backstay import Context
from backstay_passport.domain.errors import RuleProblem, TestParseFailed
from backstay_passport.domain.events import NewEvent
from backstay_passport.domain.lifecycle import RuleStatus, rule_status_after_tests
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.suite import parse_suite
from backstay_passport.domain.rules.testing import SuiteResult, check_seed, run_suite
from backstay_passport.services import Services
from backstay_passport.store import rules


def run(ctx: Context, services: Services, rule_package_version_id: str, seed: int) -> str:
    """Store the run and its event, and validate the version if the run has passed."""
    check_seed(seed)
    with services.database.read() as connection:
        row = rules.version(connection, ctx.tenant, rule_package_version_id)
    result = _run(row["rules_source"], row["tests_source"], seed)
    with services.database.connect() as connection, ctx.transaction(connection) as tx:
        version_id = rule_package_version_id
        run_id = rules.add_run(
            connection, ctx.tenant, version_id=version_id, seed=seed, result=result, job_id=str(ctx.job_id)
        )
        now = rules.version(connection, ctx.tenant, version_id)
        after = rule_status_after_tests(now["status"], passed=result.passed)
        unchanged = (now["rules_source"], now["tests_source"]) == (row["rules_source"], row["tests_source"])
        if unchanged and after != RuleStatus(now["status"]):
            rules.set_status(connection, ctx.tenant, version_id, after)
        told = {
            "run_id": run_id,
            "status": result.status,
            "total_cases": result.total_cases,
            "passed": result.passed_count,
        }
        event = NewEvent("RulePackageVersion", version_id, "TESTS_RUN", told)
        services.tell(connection, ctx.tenant, event, in_job=True)
        tx.result(result.status)
    return result.status


def _run(rules_source: str, tests_source: str, seed: int) -> SuiteResult:
    try:
        checked = check_rules(rules_source)
    except RuleProblem as error:
        raise TestParseFailed(f"the rules themselves: {error.problem}", error.line, error.column) from None
    return run_suite(parse_suite(tests_source, checked), checked, seed)
