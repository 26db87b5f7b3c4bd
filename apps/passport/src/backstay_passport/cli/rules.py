"""rules check, draft, test, publish, list."""

from __future__ import annotations

from pathlib import Path

import typer

from backstay_passport.actions import rules as actions
from backstay_passport.cli.output import (
    JSON_OPTION,
    TENANT_OPTION,
    fail,
    opened,
    read_source,
    say,
    say_table,
    tenant_id,
)
from backstay_passport.cli.waiting import wait_for
from backstay_passport.domain.errors import PassportError, RuleProblem
from backstay_passport.domain.rules.check import check_rules
from backstay_passport.domain.rules.suite import parse_suite
from backstay_passport.domain.rules.testing import check_seed, run_suite
from backstay_passport.rule_packages import battery_passport
from backstay_passport.store import rules

WAIT_SECONDS = 300.0


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    group = typer.Typer(help="Rules: how passports are made of facts.", no_args_is_help=True)
    group.command("check")(check)
    group.command("add")(add)
    group.command("test")(run_tests)
    group.command("publish")(publish)
    group.command("deprecate")(deprecate)
    group.command("retire")(retire)
    group.command("list")(list_versions)
    app.add_typer(group, name="rules")


def check(
    rules_file: Path,
    tests_file: Path | None = typer.Option(None, "--tests", help="Run this test suite too."),
    seed: int = 1,
    as_json: bool = JSON_OPTION,
) -> None:
    """Check a rule file, and run its tests, without a database; errors are file:line:column."""
    for path in (rules_file, *([tests_file] if tests_file else [])):
        if not path.is_file():
            fail(f"there is no file {path}")
    current = rules_file
    try:
        checked = check_rules(read_source(rules_file))
        text = f"{len(checked.package.rules)} rules are right."
        value: dict[str, object] = {"ok": True, "rules": len(checked.package.rules)}
        if tests_file is not None:
            current = tests_file
            result = run_suite(parse_suite(read_source(tests_file), checked), checked, check_seed(seed))
            text += f" {result.passed_count} of {result.total_cases} cases hold: {result.status}."
            value.update(status=result.status, ok=result.passed, passed=result.passed_count)
            if result.first_failure is not None:
                text += f"\n{result.first_failure.test_name}: {result.first_failure.error}"
                value["first_failure"] = result.first_failure.as_json()
    except RuleProblem as problem:
        value = {"ok": False, "file": str(current), "line": problem.line, "column": problem.column}
        value["problem"] = problem.problem
        text = f"{current}:{problem.line}:{problem.column}: {problem.problem}"
    except PassportError as error:
        fail(error.message)
    say(value, as_json=as_json, text=text)
    if not value["ok"]:
        raise typer.Exit(1)


def add(
    rules_file: Path | None = typer.Argument(
        None, help="The rules that come with the application if not given."
    ),
    tests_file: Path | None = typer.Argument(None),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Store rules and tests as a new draft."""
    if rules_file is not None and tests_file is None:
        fail("rules without their tests cannot be validated: give both files, or none for those shipped")
    shipped = battery_passport()
    with opened() as services:
        rules_source = read_source(rules_file) if rules_file else shipped.rules
        tests_source = read_source(tests_file) if tests_file else shipped.tests
        version_id = actions.add_version(services, tenant_id(services, tenant), rules_source, tests_source)
    say({"id": version_id, "status": "DRAFT"}, as_json=as_json, text=f"{version_id} DRAFT")


def run_tests(
    version: str,
    seed: int = 1,
    wait: bool = typer.Option(False, help="Wait for the result; exit 0 only if it is PASSED."),
    tenant: str = TENANT_OPTION,
    as_json: bool = JSON_OPTION,
) -> None:
    """Run the tests of a stored version as a job."""
    with opened() as services:
        job_id = actions.run_tests(services, tenant_id(services, tenant), version, seed)
        status = wait_for(services, job_id, WAIT_SECONDS).result if wait else "QUEUED"
    say({"job_id": job_id, "status": status}, as_json=as_json, text=str(status))
    if wait and status != "PASSED":
        raise typer.Exit(1)


def publish(version: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Publish a validated version."""
    with opened() as services:
        actions.publish(services, tenant_id(services, tenant), version)
    say({"id": version, "status": "PUBLISHED"}, as_json=as_json, text=f"{version} PUBLISHED")


def deprecate(version: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Let a published version make no more passports; those that it made stay."""
    with opened() as services:
        actions.deprecate(services, tenant_id(services, tenant), version)
    say({"id": version, "status": "DEPRECATED"}, as_json=as_json, text=f"{version} DEPRECATED")


def retire(version: str, tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """Put a deprecated version away for good."""
    with opened() as services:
        actions.retire(services, tenant_id(services, tenant), version)
    say({"id": version, "status": "RETIRED"}, as_json=as_json, text=f"{version} RETIRED")


def list_versions(tenant: str = TENANT_OPTION, as_json: bool = JSON_OPTION) -> None:
    """List the rule package versions."""
    with opened() as services:
        owner = tenant_id(services, tenant)
        with services.database.read() as connection:
            rows = rules.versions(connection, owner)
    say_table(rows, ["id", "name", "version", "status"], as_json=as_json)
