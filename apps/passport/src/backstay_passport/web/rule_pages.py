"""The rule editor: errors in place, test runs, publishing."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response

from backstay.kit import Crumb, Pages, path_of
from backstay_passport.actions import rules as rule_actions
from backstay_passport.domain.errors import PassportError, RuleProblem, TestParseFailed
from backstay_passport.rule_packages import battery_passport
from backstay_passport.services import Services
from backstay_passport.store import rules

Source = Annotated[str, Form(max_length=262_144)]


@dataclass(frozen=True)
class Draft:
    """What stands in the editor, of which draft if it is stored already, and what is wrong with it."""

    rules: str
    tests: str
    version_id: str | None = None
    problem: RuleProblem | None = None


def install(web: APIRouter, services: Services, pages: Pages, reader: Any, writer: Any) -> None:
    """Add the pages of rules."""

    @web.get("/rules", response_model=None)
    def listed(request: Request, actor: reader) -> Response:
        with services.database.read() as connection:
            rows = rules.versions(connection, actor.tenant)
        linked = [{**row, "href": path_of("console", "rules", row["id"])} for row in rows]
        return pages.render(request, "rules.html", title="Rules", rows=linked)

    _editing(web, services, pages, writer)

    @web.get("/rules/{version_id}", response_model=None)
    def one(request: Request, actor: reader, version_id: str, compare: str = "") -> Response:
        with services.database.read() as connection:
            row = rules.named_version(connection, actor.tenant, version_id)
            runs = rules.runs(connection, actor.tenant, version_id)
            others = [
                other
                for other in rules.versions(connection, actor.tenant)
                if other["package_id"] == row["package_id"] and other["id"] != version_id
            ]
        shown = [{**run, "failure": _failure(run["first_failure"])} for run in runs]
        return pages.render(
            request,
            "rule_version.html",
            title=f"{row['name']}, version {row['version']}",
            crumbs=[Crumb("Rules", "/console/rules"), Crumb(f"Version {row['version']}")],
            row=row,
            runs=shown,
            others=others,
            compared=next((other for other in others if other["id"] == compare), None),
        )

    @web.post("/rules/{version_id}/test", response_model=None)
    def test(request: Request, actor: writer, version_id: str) -> Response:
        rule_actions.run_tests(services, actor.tenant, version_id, seed=1)
        return pages.redirect(
            request, path_of("console", "rules", version_id), flash="The tests are running."
        )

    _moves(web, services, pages, writer)


def _moves(web: APIRouter, services: Services, pages: Pages, writer: Any) -> None:
    def moved(request: Request, version_id: str, told: str, move: Callable[[], None]) -> Response:
        back = path_of("console", "rules", version_id)
        try:
            move()
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash=told)

    @web.post("/rules/{version_id}/publish", response_model=None)
    def publish(request: Request, actor: writer, version_id: str) -> Response:
        move = partial(rule_actions.publish, services, actor.tenant, version_id, actor.name)
        return moved(request, version_id, "Published; it never changes again.", move)

    @web.post("/rules/{version_id}/deprecate", response_model=None)
    def deprecate(request: Request, actor: writer, version_id: str) -> Response:
        move = partial(rule_actions.deprecate, services, actor.tenant, version_id, actor.name)
        return moved(request, version_id, "Deprecated; it makes no more passports.", move)

    @web.post("/rules/{version_id}/retire", response_model=None)
    def retire(request: Request, actor: writer, version_id: str) -> Response:
        move = partial(rule_actions.retire, services, actor.tenant, version_id, actor.name)
        return moved(request, version_id, "Retired.", move)


def _editing(web: APIRouter, services: Services, pages: Pages, writer: Any) -> None:
    @web.get("/rules/new", response_model=None)
    def new(request: Request, actor: writer, base: str = "") -> Response:
        if not base:
            shipped = battery_passport()
            return _editor(request, pages, Draft(shipped.rules, shipped.tests))
        with services.database.read() as connection:
            row = rules.version(connection, actor.tenant, base)
        return _editor(request, pages, Draft(row["rules_source"], row["tests_source"]))

    @web.post("/rules/new", response_model=None)
    def add(
        request: Request, actor: writer, rules_source: Source = "", tests_source: Source = ""
    ) -> Response:
        draft = Draft(_lines(rules_source), _lines(tests_source))
        try:
            made = rule_actions.add_version(services, actor.tenant, draft.rules, draft.tests, actor.name)
        except RuleProblem as problem:
            return _editor(request, pages, replace(draft, problem=problem))
        return pages.redirect(request, path_of("console", "rules", made), flash="Stored as a draft.")

    @web.get("/rules/{version_id}/edit", response_model=None)
    def edit(request: Request, actor: writer, version_id: str) -> Response:
        with services.database.read() as connection:
            row = rules.version(connection, actor.tenant, version_id)
        return _editor(request, pages, Draft(row["rules_source"], row["tests_source"], version_id))

    @web.post("/rules/{version_id}/edit", response_model=None)
    def rewrite(
        request: Request,
        actor: writer,
        version_id: str,
        rules_source: Source = "",
        tests_source: Source = "",
    ) -> Response:
        draft = Draft(_lines(rules_source), _lines(tests_source), version_id)
        back = path_of("console", "rules", version_id)
        try:
            rule_actions.rewrite_draft(
                services, actor.tenant, version_id, draft.rules, draft.tests, actor.name
            )
        except RuleProblem as problem:
            return _editor(request, pages, replace(draft, problem=problem))
        except PassportError as error:
            return pages.redirect(request, back, flash=error.message, tone="bad")
        return pages.redirect(request, back, flash="The draft is rewritten.")


def _lines(text: str) -> str:
    # A browser sends the ends of lines as a network does.
    return text.replace("\r\n", "\n")


def _failure(text: str | None) -> str:
    if not text:
        return ""
    found = json.loads(text)
    return f"{found['test_name']}: {found['error']}"


def _editor(request: Request, pages: Pages, draft: Draft) -> Response:
    problem = draft.problem
    in_tests = isinstance(problem, TestParseFailed)
    lines = (draft.tests if in_tests else draft.rules).splitlines()
    marked = lines[problem.line - 1] if problem is not None and 0 < problem.line <= len(lines) else ""
    title = "Edit the draft" if draft.version_id else "New rules"
    target = (
        ("console", "rules", draft.version_id, "edit") if draft.version_id else ("console", "rules", "new")
    )
    return pages.render(
        request,
        "rule_editor.html",
        title=title,
        status=200 if problem is None else 422,
        crumbs=[Crumb("Rules", "/console/rules"), Crumb(title)],
        action=path_of(*target),
        draft=draft,
        problem=problem,
        in_tests=in_tests,
        marked=marked,
    )
