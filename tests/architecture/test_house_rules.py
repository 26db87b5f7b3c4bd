"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

import backstay

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "backstay"

SOURCE_LINES = 400
CATALOGUE_LINES = 600
CATALOGUES = {"errors.py", "records.py", "model/records.py", "model/events.py"}
TEST_LINES = 600
FUNCTION_LINES = 40
ROOT_MODULES = 10

# Standard library, but a door to the outside: a pure module has no use for it.
IMPURE = {
    "asyncio",
    "logging",
    "os",
    "random",
    "secrets",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
}

# User code runs here, or a duty that must not end the loop: anything may be raised.
MAY_CATCH_EVERYTHING = {
    "worker/run/runner.py",
    "worker/run/batch_run.py",
    "worker/run/resumed_coroutine.py",  # hands to a coroutine what its task was thrown
    "worker/process/child.py",
    "worker/run/outcomes.py",  # reads what handlers hand over with their endings
    "worker/settler.py",  # one outcome that nobody can write must not keep the others
    "maintenance/loop.py",
    "model/classify.py",  # reads attributes of exceptions that users wrote
    "model/text/error_facts.py",  # reads their details
    "model/text/error_text.py",  # calls their __str__
    "stores/database/sqlite_file.py",  # carries what happened in its thread to the one who waits
    "client/enqueue/coalescer.py",  # likewise, from the task that sends for several callers
    "worker/worker.py",  # likewise
    "worker/kept_running.py",  # an unforeseen error of one part must not end the worker
    "handlers/fidelity.py",  # calls the user's own __eq__
    "settings/event_writer.py",  # calls the application's hook
}

# The clock, chance, sleep and ids come through runtime/env.py, so that a test can hold them still.
HELD_BY_ENV = {
    ("time", "time"),
    ("time", "time_ns"),
    ("time", "monotonic"),
    ("time", "monotonic_ns"),
    ("time", "sleep"),
    ("random", "*"),
    ("secrets", "*"),
    ("uuid", "uuid1"),
    ("uuid", "uuid4"),
    ("uuid", "uuid7"),
    ("asyncio", "sleep"),
    ("datetime", "now"),
    ("datetime", "utcnow"),
    ("datetime", "today"),
}
MAY_USE_THE_CLOCK = (
    "runtime/env.py",
    "testing/",
    "cli/",
    "kit/",  # web pages: sessions expire and times are told by the wall clock
    "outgoing/",  # signatures carry the moment of sending
    "notifications/",
    "stores/database/sqlite.py",  # the clock of a database that has none of its own
    "stores/database/sqlite_file.py",  # waits for a file lock in a thread of its own
)

RUNS_SQL = {
    "execute",
    "executemany",
    "executescript",
    "fetch",
    "fetchrow",
    "fetchval",
    "fetchmany",
    "prepare",
}

# Put together here, so that this file does not contain what it looks for.
FORBIDDEN_TEXTS = (
    "/wo" + "rk/",
    "sha" + "red/design",
    "sha" + "red/style",
    "py" + "pi.org",
    "python" + "hosted.org",
    "registry." + "npmjs",
    "/opt/" + "pypi",
)


def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def name_in_source(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), filename=str(path))


def test_no_source_file_is_longer_than_a_reader_holds() -> None:
    catalogues = [SOURCE / name for name in sorted(CATALOGUES)]

    assert too_long([path for path in source_files() if path not in catalogues], SOURCE_LINES) == []
    assert too_long(catalogues, CATALOGUE_LINES) == []


def test_no_test_file_is_too_long() -> None:
    assert too_long(sorted((ROOT / "tests").rglob("*.py")), TEST_LINES) == []


def too_long(paths: list[Path], limit: int) -> list[str]:
    lengths = {path: len(path.read_text().splitlines()) for path in paths}
    return [f"{path.relative_to(ROOT)}: {length}" for path, length in lengths.items() if length > limit]


def test_every_function_fits_on_a_screen() -> None:
    long = [
        f"{name_in_source(path)}:{node.lineno} {node.name}: {length} lines"
        for path in source_files()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    ]

    assert long == []


def test_only_the_runner_and_the_loop_catch_everything() -> None:
    caught = [
        f"{name_in_source(path)}:{node.lineno}"
        for path in source_files()
        if name_in_source(path) not in MAY_CATCH_EVERYTHING
        for node in ast.walk(parsed(path))
        if (isinstance(node, ast.ExceptHandler) and catches_everything(node)) or suppresses_everything(node)
    ]

    assert caught == []


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """`except BaseException` that ends in a bare `raise` only cleans up, so it is not meant."""
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {node.id for node in caught if isinstance(node, ast.Name)}
    last = handler.body[-1]
    raises_again = isinstance(last, ast.Raise) and last.exc is None
    return "Exception" in names or ("BaseException" in names and not raises_again)


def suppresses_everything(node: ast.AST) -> bool:
    """`with suppress(Exception)` catches everything in other words."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "suppress"):
        return False
    return bool({"Exception", "BaseException"} & {one.id for one in node.args if isinstance(one, ast.Name)})


def test_clock_chance_and_sleep_come_through_env() -> None:
    found = [
        f"{name_in_source(path)}:{line} {module}.{name}"
        for path in source_files()
        if not name_in_source(path).startswith(MAY_USE_THE_CLOCK)
        for line, module, name in uses_of_modules(parsed(path))
        if (module, name) in HELD_BY_ENV or (module, "*") in HELD_BY_ENV
    ]

    assert found == []


def uses_of_modules(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Yield `module.name` as used, whether it was written so or imported from the module."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, node.module or "", alias.name) for alias in node.names)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        if isinstance(node.value, ast.Name):
            yield node.lineno, aliases.get(node.value.id, node.value.id), node.attr
        elif isinstance(node.value, ast.Attribute):
            yield node.lineno, node.value.attr, node.attr


def test_the_model_imports_only_itself_and_the_pure_standard_library() -> None:
    allowed = sys.stdlib_module_names - IMPURE
    foreign = [
        f"{name_in_source(path)} imports {imported}"
        for path in [SOURCE / "errors.py", *sorted((SOURCE / "model").rglob("*.py"))]
        for imported in imported_modules(parsed(path))
        if imported.split(".")[0] not in allowed
        and imported != "backstay.errors"
        and not imported.startswith("backstay.model.")
    ]

    assert foreign == []


def test_the_top_floor_has_at_most_ten_modules() -> None:
    assert len(list(SOURCE.glob("*.py"))) <= ROOT_MODULES


def imported_modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "backstay":
            yield from (f"backstay.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def test_no_sql_is_put_together_where_it_is_run() -> None:
    found = [
        f"{name_in_source(path)}:{node.lineno}"
        for path in source_files()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in RUNS_SQL
        and any(is_put_together(argument) for argument in node.args[:1])
    ]

    assert found == []


def is_put_together(argument: ast.expr) -> bool:
    """An f-string, `%`, `+`, or `.format(…)`."""
    match argument:
        case ast.JoinedStr() | ast.BinOp(op=ast.Mod() | ast.Add()):
            return True
        case ast.Call(func=ast.Attribute(attr="format")):
            return True
    return False


def test_nothing_is_pickled() -> None:
    unsafe = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "multiprocessing"}
    found = [
        f"{name_in_source(path)} imports {imported}"
        for path in source_files()
        for imported in imported_modules(parsed(path))
        if imported.split(".")[0] in unsafe
    ]

    assert found == []


def test_nothing_is_left_to_do() -> None:
    marks = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")

    assert lines_matching(marks, suffixes={".py", ".sql", ".toml"}) == []


def test_every_silenced_check_names_itself_and_its_reason() -> None:
    silenced = re.compile(r"#\s*(type:\s*ignore|noqa)\b(?P<rest>.*)")
    complete = re.compile(r"^(\[[\w, -]+\]|:\s*[A-Z]+\d+(,\s*[A-Z]+\d+)*)\s*(--|#|—|-|:)\s*\S.{8,}")
    found = [
        line
        for line in lines_matching(silenced, suffixes={".py"})
        if (match := silenced.search(line)) and not complete.match(match["rest"].strip())
    ]

    assert [line for line in found if "re.compile" not in line] == []


def test_imports_go_in_the_agreed_directions() -> None:
    lint_imports = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint_imports, "--no-cache"], cwd=ROOT, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_speaks_of_the_machine_it_was_written_on() -> None:
    forbidden = re.compile("|".join(re.escape(text) for text in FORBIDDEN_TEXTS))

    assert lines_matching(forbidden) == []


def lines_matching(pattern: re.Pattern[str], *, suffixes: set[str] | None = None) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{number} {line.strip()}"
        for path in project_files()
        if suffixes is None or path.suffix in suffixes
        for number, line in enumerate(text_of(path).splitlines(), start=1)
        if pattern.search(line)
    ]


def project_files() -> list[Path]:
    """Every file that git tracks or would track; read without git, because a copy of the project has none."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [".git", *(line.rstrip("/") for line in lines if line and not line.startswith("#"))]
    found = []
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if not is_ignored(Path(folder, name), ignored)]
        found += [path for name in files if not is_ignored(path := Path(folder, name), ignored)]
    return sorted(found)


def is_ignored(path: Path, patterns: list[str]) -> bool:
    place = f"/{path.relative_to(ROOT).as_posix()}"
    return any(fnmatch(place if pattern[0] == "/" else path.name, pattern) for pattern in patterns)


def test_the_files_are_those_that_git_would_track() -> None:
    listed = subprocess.run(
        [
            "git",
            "-c",
            f"safe.directory={ROOT}",
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "-z",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    named = {ROOT / name for name in listed.stdout.split("\0") if name}

    assert listed.returncode != 0 or {path for path in named if path.is_file()} == set(project_files())


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""


@pytest.mark.parametrize(
    ("program", "unwanted"),
    [
        ("import backstay", {"asyncio", "asyncpg", "msgspec", "backstay.app"}),
        (
            "from backstay import Backstay; Backstay()",
            {"asyncpg", "psutil", "backstay.composition.make_worker", "backstay.composition.connect"},
        ),
        (
            "import backstay.cli.commands",
            {"asyncio", "asyncpg", "backstay.app", "backstay.model.records", "backstay.cli.dead"},
        ),
        (
            "from typer.testing import CliRunner; from backstay.cli.commands import backstay\n"
            "CliRunner().invoke(backstay, ['jobs', '--help'])",
            {"asyncpg", "backstay.app", "backstay.cli.dead", "backstay.cli.schedules"},
        ),
    ],
)
def test_what_is_not_needed_is_not_loaded(program: str, unwanted: set[str]) -> None:
    """A command that prints help, or a program that imports an error, does not wait for database drivers."""
    asked = f"{program}\nimport sys\nprint(*sys.modules)"

    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert unwanted & set(done.stdout.split()) == set()


def test_every_public_name_is_found_where_it_lives() -> None:
    assert {name for name in backstay.__all__ if not hasattr(backstay, name)} == set()
    assert set(backstay.__all__) <= set(dir(backstay))
