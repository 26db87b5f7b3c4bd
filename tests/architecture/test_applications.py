"""What the applications may import, and how they keep their shape: the same rules for each folder of `apps`."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from test_house_rules import (
    HELD_BY_ENV,
    ROOT,
    SOURCE_LINES,
    TEST_LINES,
    imported_modules,
    parsed,
    too_long,
    uses_of_modules,
)

APPS = ROOT / "apps"
LONGEST_FUNCTION = 90
"""More than in the engine: a function that adds the routes of a page holds them all."""
PUBLIC = (
    "backstay.errors",
    "backstay.records",
    "backstay.testing",
    "backstay.kit",
    "backstay.outgoing",
    "backstay.notifications",
)
OUTSIDE_OF_A_DOMAIN = {
    "aiosmtplib",
    "asyncpg",
    "backstay",
    "backstay_parts",
    "boto3",
    "fastapi",
    "httpx",
    "psycopg",
    "redis",
    "requests",
    "smtplib",
    "socket",
    "sqlalchemy",
    "sqlite3",
    "starlette",
    "stripe",
    "subprocess",
    "urllib.request",
}


def sources(part: str = "") -> list[Path]:
    return sorted(path for path in APPS.glob(f"*/src/*/{part}**/*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(APPS).as_posix()


def test_there_are_applications_to_check() -> None:
    assert {path.parts[-4] for path in APPS.glob("*/src/*/__init__.py")} >= {"example", "parts"}
    assert sources("domain/")


def test_an_application_imports_public_names_only() -> None:
    private = [
        f"{name_of(path)} imports {imported}"
        for path in sources()
        for imported in imported_modules(parsed(path))
        if imported.startswith("backstay.") and not is_public(imported)
    ]

    assert private == []


def is_public(module: str) -> bool:
    """A public module, what is below it, or a name of `backstay` itself."""
    return module.split(".")[1][:1].isupper() or module.startswith(PUBLIC) or module in NAMES


NAMES = {"backstay.current", "backstay.configure_logging", "backstay.result_of", "backstay.__version__"}


def test_a_domain_knows_no_engine_no_driver_and_no_network() -> None:
    foreign = [
        f"{name_of(path)} imports {imported}"
        for path in sources("domain/")
        for imported in imported_modules(parsed(path))
        if imported in OUTSIDE_OF_A_DOMAIN or imported.split(".")[0] in OUTSIDE_OF_A_DOMAIN
    ]

    assert foreign == []


def test_a_domain_has_no_clock_and_no_chance_of_its_own() -> None:
    found = [
        f"{name_of(path)}:{line} {module}.{name}"
        for path in sources("domain/")
        for line, module, name in uses_of_modules(parsed(path))
        if (module, name) in HELD_BY_ENV - {("random", "*")}
    ]

    assert found == []


def test_files_and_functions_keep_their_size() -> None:
    assert too_long(sources(), SOURCE_LINES) == []
    assert too_long(sorted(APPS.glob("*/tests/**/*.py")), TEST_LINES) == []
    long = [
        f"{name_of(path)}:{node.lineno} {node.name}: {length} lines"
        for path in sources()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST_FUNCTION
    ]
    assert long == []


@pytest.mark.parametrize("app", sorted(path.parent.name for path in APPS.glob("*/pyproject.toml")))
def test_an_application_has_its_rooms(app: str) -> None:
    folder = APPS / app
    package = folder / "src" / f"backstay_{app}"

    assert (folder / "README.md").is_file()
    assert (package / "py.typed").is_file()
    assert list((folder / "tests").glob("test_*.py"))
