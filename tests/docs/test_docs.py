"""Is what we tell people true, complete and current?"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import backstay
from backstay import errors, records
from backstay.model.policy.fields import ABOUT
from backstay.model.policy.policy import Policy
from backstay.model.states import State
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
EXAMPLES = DOCS / "examples"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
ON_POSTGRES = ["databases.py", "transaction.py", "working_from_sql.py"]
ON_SQLITE = sorted(path.name for path in EXAMPLES.glob("*.py") if path.name not in ON_POSTGRES)


def run(*command: str | Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", *command],
        cwd=folder,
        env={**os.environ, "BACKSTAY_URL": "", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def output_of(*command: str | Path, folder: Path, **environment: str) -> str:
    done = run(*command, folder=folder, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def page(name: str) -> str:
    return (DOCS / name).read_text()


def first_column(name: str) -> list[str]:
    """What the tables of a page list in backticks, in order."""
    return re.findall(r"^\| `([\w.]+)` \|", page(name), flags=re.MULTILINE)


@pytest.mark.parametrize("name", ON_SQLITE)
def test_an_example_runs(name: str, tmp_path: Path) -> None:
    output_of(EXAMPLES / name, folder=tmp_path)


def test_the_guide_to_configuration_shows_what_its_example_prints(tmp_path: Path) -> None:
    printed = output_of(EXAMPLES / "configuration.py", folder=tmp_path)

    assert f"```text\n{printed}```" in page("guides/configuration.md")


def test_the_examples_for_postgresql_run(postgres_server: PrivatePostgres, tmp_path: Path) -> None:
    postgres_server.create_database("docs_examples")
    url = postgres_server.url("docs_examples")

    refused = run(EXAMPLES / "databases.py", folder=tmp_path, BACKSTAY_URL=url)
    output_of("-m", "backstay", "db", "migrate", folder=tmp_path, BACKSTAY_URL=url)
    accepted = output_of(EXAMPLES / "databases.py", folder=tmp_path, BACKSTAY_URL=url)
    stored = output_of(EXAMPLES / "transaction.py", folder=tmp_path, BACKSTAY_URL=url)

    scanned = output_of(EXAMPLES / "working_from_sql.py", folder=tmp_path, BACKSTAY_URL=url)

    postgres_server.drop_database("docs_examples")
    assert scanned == "words on the page: 3\n"
    assert refused.returncode == 1
    assert "backstay db migrate" in refused.stderr
    assert accepted == "ready\n"
    assert "[1, 2, 3, 4, 5, 99]" in stored


def test_the_tutorial_goes_as_it_says(tmp_path: Path) -> None:
    for program in (EXAMPLES / "tutorial").glob("*.py"):
        shutil.copy(program, tmp_path)

    output_of("store.py", folder=tmp_path)
    said = work_until_dead(tmp_path)
    listed = output_of("-m", "backstay", "dead", folder=tmp_path)
    seen = output_of("look.py", folder=tmp_path).splitlines()

    assert sorted(said) == [
        "attempt 1: a welcome for Ada",
        "attempt 1: a welcome for Bob",
        "attempt 2: a welcome for Bob",
        "attempt 3: a welcome for Bob",
    ]
    assert "'bob at example.org' is no address" in listed
    assert len(seen) == 3
    assert all(line in page("tutorial.md") for line in [*said, *seen])


def work_until_dead(folder: Path) -> list[str]:
    """Run the tutorial's worker until a job is dead, then stop it as Ctrl-C would; what its handlers printed."""
    # Apart from the log lines, which other threads may write in the middle of a handler's.
    printed = folder / "printed.txt"
    with printed.open("w") as stdout:
        worker = subprocess.Popen(
            [sys.executable, "-m", "backstay", "worker", "jobs:app"],
            cwd=folder,
            env={**os.environ, "BACKSTAY_URL": ""},
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert worker.stderr is not None
    while "job.dead" not in (line := worker.stderr.readline()):
        assert line, "the worker ended before a job was dead"
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=30)
    assert worker.returncode == 0
    return [line for line in printed.read_text().splitlines() if line.startswith("attempt")]


@pytest.mark.parametrize("tool", ["draw_states.py", "copy_examples.py", "write_reference.py"])
def test_what_is_made_from_code_is_current(tool: str) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / tool), "--check"], capture_output=True, text=True
    )

    assert done.returncode == 0, done.stdout


def test_every_guide_shows_code_that_runs() -> None:
    bare = [
        path.name for path in (DOCS / "guides").glob("*.md") if 'python title="docs/' not in path.read_text()
    ]

    assert bare == []


def test_every_field_of_the_policy_has_its_sentence() -> None:
    assert list(ABOUT) == [field.name for field in fields(Policy)]


def test_every_error_is_documented() -> None:
    raised = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.BackstayError | errors.EndOfAttempt)
    }

    assert set(first_column("reference/errors.md")) == raised - {"BackstayError"}
    assert "`BackstayError`" in page("reference/errors.md")


def test_every_public_name_is_documented() -> None:
    documented = re.findall(r"^\| `(\w+)` \| \S", page("reference/public.md"), flags=re.MULTILINE)

    assert set(backstay.__all__) <= set(documented)
    assert {name for name in dir(records) if name[0].isupper()} <= set(documented)


def test_every_option_of_a_job_is_documented() -> None:
    table = page("guides/enqueue.md")
    missing = [field.name for field in fields(JobOptions) if f"`{field.name}`" not in table]

    assert missing == []


def test_every_option_of_a_worker_is_documented() -> None:
    options = records.WorkerFields.__annotations__
    missing = [name for name in options if f"`{name}`" not in page("guides/workers.md")]

    assert missing == []


def test_every_state_is_explained() -> None:
    rows = re.findall(r"^\| (\w+) \| ", page("explanation/states.md"), flags=re.MULTILINE)

    assert [state.value for state in State] == [row for row in rows if row in set(State)][: len(State)]


def test_every_decision_is_listed() -> None:
    listed = re.findall(r"\((\d{4}-[\w-]+\.md)\)", page("adr/README.md"))

    assert listed == sorted(path.name for path in (DOCS / "adr").glob("0*.md"))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", without_code(path.read_text()))
    broken = [link for link in links if not leads_somewhere(path, link)]

    assert broken == []


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def leads_somewhere(path: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text())


def anchors(text: str) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_no_page_of_ours_is_an_orphan() -> None:
    """Every page of the documentation is reached from the index by links."""
    reached, waiting = set[Path](), [DOCS / "index.md"]
    while waiting:
        path = waiting.pop()
        if path not in reached:
            reached.add(path)
            links = re.findall(r"\]\((?!https?:)([^)#\s]+\.md)", path.read_text())
            waiting += [(path.parent / link).resolve() for link in links]

    assert [str(path.relative_to(ROOT)) for path in DOCS.rglob("*.md") if path not in reached] == []
