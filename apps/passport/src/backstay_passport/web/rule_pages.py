"""The rule editor: errors in place, test runs, publishing."""

import json
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from backstay.kit import Crumb, Pages, path_of
from backstay_passport.actions import rules as rule_actions
from backstay_passport.domain.errors import PassportError, RuleProblem, TestParseFailed
from backstay_passport.rule_packages import battery_passport
from backstay_passport.services import Services
from backstay_passport.store import rules


def install(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    """Add the pages of rules."""
    Source = Annotated[str, Form(max_length=262_144)]

    @web.get("/rules", response_model=None)
    def listed(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            rows = rules.versions(connection, actor.tenant)
        linked = [{**row, "href": path_of("console", "rules", row["id"])} for row in rows]
        return pages.render(request, "rules.html", title="Rules", rows=linked)

    @web.get("/rules/new", response_model=None)
    def new(request: Request, actor: writer) -> Response:
        shipped = battery_passport()
        return _editor(request, pages, shipped.rules, shipped.tests, None)

    @web.post("/rules/new", response_model=None)
    def add(
        request: Request, actor: writer, rules_source: Source = "", tests_source: Source = ""
    ) -> Response:
        rules_text, tests_text = rules_source.replace("\r\n", "\n"), tests_source.replace("\r\n", "\n")
        try:
            made = rule_actions.add_version(services, actor.tenant, rules_text, tests_text, actor.name)
        except RuleProblem as problem:
            return _editor(request, pages, rules_text, tests_text, problem)
        return pages.redirect(request, path_of("console", "rules", made), flash="Stored as a draft.")

    @web.get("/rules/{version_id}", response_model=None)
    def one(request: Request, actor: reader, version_id: str) -> Response:
        with services.database.read() as connection:
            row = rules.version(connection, actor.tenant, version_id)
            runs = rules.runs(connection, actor.tenant, version_id)
        shown = [{**run, "failure": _failure(run["first_failure"])} for run in runs]
        return pages.render(
            request,
            "rule_version.html",
            title=f"Rules, version {row['version']}",
            crumbs=[Crumb("Rules", "/console/rules"), Crumb(f"Version {row['version']}")],
            row=row,
            runs=shown,
        )

    @web.post("/rules/{version_id}/test", response_model=None)
    def test(request: Request, actor: writer, version_id: str) -> Response:
        rule_actions.run_tests(services, actor.tenant, version_id, seed=1)
        return pages.redirect(
            request, path_of("console", "rules", version_id), flash="The tests are running."
        )

    @web.post("/rules/{version_id}/publish", response_model=None)
    def publish(request: Request, actor: writer, version_id: str) -> Response:
        back = path_of("console", "rules", version_id)
        try:
            rule_actions.publish(services, actor.tenant, version_id, actor.name)
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="Published; it never changes again.")


def _failure(text: str | None) -> str:
    if not text:
        return ""
    found = json.loads(text)
    return f"{found['test_name']}: {found['error']}"


def _editor(
    request: Request, pages: Pages, rules_text: str, tests_text: str, problem: RuleProblem | None
) -> Response:
    in_tests = isinstance(problem, TestParseFailed)
    lines = (tests_text if in_tests else rules_text).splitlines()
    marked = lines[problem.line - 1] if problem is not None and 0 < problem.line <= len(lines) else ""
    return pages.render(
        request,
        "rule_editor.html",
        title="New rules",
        status=200 if problem is None else 422,
        crumbs=[Crumb("Rules", "/console/rules"), Crumb("New")],
        rules_text=rules_text,
        tests_text=tests_text,
        problem=problem,
        in_tests=in_tests,
        marked=marked,
    )
