"""Every requirement has a test that names it, and the acceptance page names tests that exist."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from backstay_parts.traceability import find_points, load_points
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.store.tables import metadata

TESTS = Path(__file__).parent
DOCS = TESTS.parent / "docs"
LEAST_COVERAGE = 75
# Enough of the quick tests to reach most of the domain.
MEASURED = ("facts", "rules", "signing_and_codes", "verify")
# What runs worker processes, or the tests themselves.
ELSEWHERE = (
    "test_passport_kills",
    "test_passport_processes",
    "test_passport_traceability",
    "test_passport_demo",
)
TOO_SLOW = "not bomb and not reader and not one_byte and not every_code and not disclosed"


def test_every_point_is_named_by_a_test() -> None:
    points = load_points(DOCS / "points.toml")
    assert set(_named(points)) == set(points)


def test_every_requirement_of_the_document_has_its_point() -> None:
    points = load_points(DOCS / "points.toml")
    sizes = {"P0": 3, "P1": 9, "P2": 7, "P3": 4, "P4": 9, "P5": 7, "P6": 6, "P7": 5, "P8": 7}
    cases = {f"TC-{phase}-{number:02d}" for phase, count in sizes.items() for number in range(1, count + 1)}

    assert len(cases) == 57
    assert set(points) == cases | {f"BPC-{number:03d}" for number in range(1, 55)}


def test_the_acceptance_page_names_tests_that_exist() -> None:
    page = (DOCS / "acceptance.md").read_text(encoding="utf-8")
    known = set(re.findall(r"^(?:async )?def (test_\w+)", _all_source(), flags=re.MULTILINE))

    assert re.findall(r"^\| (A\d+) ", page, flags=re.MULTILINE) == [f"A{n}" for n in range(1, 21)]
    assert (
        set(re.findall(r"\btest_\w+(?!\w*\.py)", page)) - set(re.findall(r"\btest_\w+(?=\.py)", page))
        <= known
    )


def test_the_tests_reach_three_quarters_of_the_domain(tmp_path: Path) -> None:
    """BPC-049: lines of the domain that the quick tests run."""
    files = [str(TESTS / f"test_passport_{name}.py") for name in MEASURED]
    environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "coverage")}
    measure = [sys.executable, "-m", "coverage"]
    tests = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "-k", TOO_SLOW]
    source = ["--source", "backstay_passport.domain"]

    ran = subprocess.run(
        [*measure, "run", *source, *tests, *files],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    told = subprocess.run(
        [*measure, "report", "--format", "total"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )

    assert ran.returncode == 0, ran.stdout.decode()
    assert int(told.stdout) >= LEAST_COVERAGE


@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_the_tests_reach_three_quarters_of_the_whole_application(tmp_path: Path) -> None:
    """BPC-049: lines of the application that the tests of one process run; those of worker processes come on top."""
    files = [str(path) for path in sorted(TESTS.glob("test_*.py")) if path.stem not in ELSEWHERE]
    environment = {**os.environ, "COVERAGE_FILE": str(tmp_path / "coverage")}
    measure = [sys.executable, "-m", "coverage"]
    tests = ["-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not prove"]

    ran = subprocess.run(
        [*measure, "run", "--source", "backstay_passport", *tests, *files],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    told = subprocess.run(
        [*measure, "report", "--format", "total"],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        check=True,
    )

    assert ran.returncode == 0, ran.stdout.decode()
    sys.stdout.write(f"{told.stdout.decode().strip()} % of the lines\n")
    assert int(told.stdout) >= LEAST_COVERAGE


def test_the_page_of_the_data_model_names_every_table_and_job() -> None:
    page = (DOCS / "data_model.md").read_text(encoding="utf-8")
    kinds = build(Settings(database_url="sqlite:///unused.db")).kinds

    named = set(re.findall(r"`([a-z_]+|[A-Z_]+)`", page))

    assert {table.name for table in metadata.tables.values()} <= named
    assert set(kinds) <= named


def _all_source() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in TESTS.glob("test_*.py"))


def _named(points: dict[str, str]) -> dict[str, set[str]]:
    """Return which tests name which point, long proofs left out, read from their source."""
    named: dict[str, set[str]] = defaultdict(set)
    for path in TESTS.glob("test_*.py"):
        for function in ast.parse(path.read_text(encoding="utf-8")).body:
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if any("mark.prove" in ast.unparse(decorator) for decorator in function.decorator_list):
                continue
            for point in find_points(ast.get_docstring(function), points):
                named[point].add(f"{path.name}::{function.name}")
    return dict(named)
