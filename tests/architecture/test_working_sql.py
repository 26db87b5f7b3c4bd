"""Where the functions for working from SQL are written, before and after a release."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).parents[2]

found = importlib.util.spec_from_file_location("write_working_sql", ROOT / "tools/write_working_sql.py")
assert found is not None
assert found.loader is not None
tool = importlib.util.module_from_spec(found)
found.loader.exec_module(tool)

BLOCK = tool.BEGIN + "SELECT 1;\n" + tool.END


def migrations(folder: Path) -> Path:
    """Two migrations, of which the first has the functions."""
    first = folder / "0001_first.sql"
    first.write_text(f"CREATE TABLE t ();\n{BLOCK}CREATE TABLE u ();\n")
    (folder / "0002_service.sql").write_text("CREATE TABLE v ();\n")
    return first


def test_before_a_release_they_are_written_where_they_stand(tmp_path: Path) -> None:
    path, text = tool.target(migrations(tmp_path), "SELECT 2;\n", set())

    assert path.name == "0001_first.sql"
    assert text == f"CREATE TABLE t ();\n{tool.BEGIN}SELECT 2;\n{tool.END}CREATE TABLE u ();\n"


def test_a_migration_that_a_release_has_frozen_is_left_as_it_is(tmp_path: Path) -> None:
    path, text = tool.target(migrations(tmp_path), "SELECT 2;\n", {"0001_first.sql", "0002_service.sql"})

    assert (path.name, text) == (
        "0003_expand_working_from_sql.sql",
        f"{tool.BEGIN}SELECT 2;\n{tool.END}",
    )


def test_functions_that_have_not_changed_need_no_migration(tmp_path: Path) -> None:
    first = migrations(tmp_path)

    assert tool.target(first, "SELECT 1;\n", {"0001_first.sql"}) == (first, first.read_text())
