"""The traceability page comes from tests that passed, and from nothing else."""

from pathlib import Path

import pytest

from backstay_parts.traceability import find_points, load_points

pytest_plugins = ["pytester"]

POINTS = '[points]\nABC-001 = "one holds"\nABC-002 = "two | holds"\n'


def _project(pytester: pytest.Pytester, body: str) -> None:
    pytester.makepyfile(test_it=body)
    pytester.path.joinpath("points.toml").write_text(POINTS)


def _run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    return pytester.runpytest_subprocess(
        "--trace-points=points.toml", "--trace-page=page.md", "-p", "no:randomly", *options
    )


def test_a_passing_run_writes_what_each_test_shows(pytester: pytest.Pytester) -> None:
    _project(pytester, 'def test_a():\n    """ABC-001, ABC-002."""\ndef test_b():\n    """ABC-001"""\n')

    assert _run(pytester).ret == 0

    page = pytester.path.joinpath("page.md").read_text()
    assert "Shown: 2 of 2." in page
    assert "| ABC-001 | one holds | `test_it.py::test_a`<br>`test_it.py::test_b` |" in page
    assert "| ABC-002 | two \\| holds | `test_it.py::test_a` |" in page


def test_a_divided_run_writes_the_same_page(pytester: pytest.Pytester) -> None:
    _project(pytester, 'def test_a():\n    """ABC-001"""\ndef test_b():\n    """ABC-002"""\n')

    assert _run(pytester, "-n", "2").ret == 0

    assert "Shown: 2 of 2." in pytester.path.joinpath("page.md").read_text()


def test_a_failing_run_writes_nothing(pytester: pytest.Pytester) -> None:
    _project(pytester, 'def test_a():\n    """ABC-001"""\n    assert False\n')

    assert _run(pytester).ret == 1

    assert not pytester.path.joinpath("page.md").exists()


def test_the_check_fails_for_a_requirement_without_a_test(pytester: pytest.Pytester) -> None:
    _project(pytester, 'def test_a():\n    """ABC-001"""\n')

    result = _run(pytester, "--trace-check")

    assert result.ret == 1
    assert "no passing test shows ABC-002" in result.stdout.str()


def test_an_unknown_id_is_refused(pytester: pytest.Pytester) -> None:
    _project(pytester, 'def test_a():\n    """ABC-003"""\n')

    result = _run(pytester)

    assert result.ret != 0
    assert "ABC-003, which is not a known requirement" in result.stdout.str() + result.stderr.str()


def test_ids_are_found_by_the_whole_word() -> None:
    assert find_points("Shows ABC-001 and ABC-001, not XABC-0019.", ["ABC-001", "ABC-0019"]) == ["ABC-001"]


def test_a_file_without_points_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "points.toml"
    file.write_text("a = 1")

    with pytest.raises(ValueError, match=r"\[points\]"):
        load_points(file)
