"""How the application is built: rooms, directions, sizes."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "backstay_passport"
HANDLERS = {
    "parse_facts",
    "build_snapshot",
    "compile_passport",
    "sign_passport",
    "generate_qr",
    "run_rule_tests",
    "deliver_webhook",
    "ingest_document",
    "export_passport",
}
UPKEEP = {"sign_tree_heads"}
FORBIDDEN = {
    "backstay",
    "backstay_parts",
    "sqlalchemy",
    "httpx",
    "fastapi",
    "psycopg",
    "sqlite3",
    "random",
    "time",
    "os",
}


def imports(path: Path) -> set[str]:
    """The modules that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", sorted((SOURCE / "domain").rglob("*.py")), ids=lambda path: path.stem)
def test_the_domain_knows_nobody(path: Path) -> None:
    """BPC-002: no engine, no driver, no network, no clock, no chance below domain/."""
    for module in imports(path):
        assert module.split(".")[0] not in FORBIDDEN, module
        if module.startswith("backstay_passport"):
            assert module.startswith("backstay_passport.domain"), module


def test_each_job_type_has_a_module_of_its_own() -> None:
    """BPC-054: nine types, nine modules, one of upkeep, and a thin list of them."""
    assert {path.stem for path in (SOURCE / "handlers").glob("*.py")} - {"__init__"} == HANDLERS | UPKEEP
    assert len((SOURCE / "jobs.py").read_text(encoding="utf-8").splitlines()) <= 120


def test_handlers_do_not_know_each_other_or_the_web() -> None:
    """BPC-002, BPC-054: layers."""
    for path in (SOURCE / "handlers").glob("*.py"):
        for module in imports(path):
            assert not module.startswith(("backstay_passport.web", "backstay_passport.cli")), path
            assert not module.startswith("backstay_passport.handlers"), path


def test_only_public_names_of_the_engine_are_used() -> None:
    """BPC-002: what the application cannot reach, others cannot either."""
    names = ("errors", "records", "testing", "kit", "outgoing")
    public = {"backstay", *(f"backstay.{name}" for name in names)}
    for path in SOURCE.rglob("*.py"):
        for module in imports(path):
            if module == "backstay" or module.startswith("backstay."):
                assert module in public, (path, module)


def test_files_and_functions_are_small() -> None:
    """BPC-054: 400 lines a file, 40 a function."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                inner = (
                    sum(isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) for one in ast.walk(node)) - 1
                )
                # A function that registers others is as long as they are together.
                assert inner or node.end_lineno - node.lineno < 45, (path, node.name)
