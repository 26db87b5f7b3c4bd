"""Is what we tell people about testing true and complete?"""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import backstay.testing
from backstay.testing import Harness, SyncHarness

DOCS = Path(__file__).resolve().parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "testing.md").read_text()
GUIDE = (DOCS / "guides" / "testing.md").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for file in (DOCS / "examples" / "testing").glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nasyncio_mode = auto\nasyncio_default_fixture_loop_scope = function\nfilterwarnings = error\n"
    )
    return tmp_path


def passed(project: Path, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=project,
        env={**os.environ, "BACKSTAY_URL": "", "BACKSTAY_TEST_URL": ""},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"(\d+) passed", done.stdout)
    assert found is not None, done.stdout
    return int(found[1])


def test_the_tests_of_the_example_pass(project: Path) -> None:
    assert passed(project, "test_shop.py") == 7


def test_they_pass_on_a_server_of_their_own_as_well(project: Path) -> None:
    own_server = (project / "on_postgres.py").read_text()
    (project / "conftest.py").write_text(own_server + (project / "conftest.py").read_text())

    assert passed(project, "test_shop.py") == 7


def test_the_suite_for_stores_runs_as_the_guide_says(project: Path) -> None:
    assert passed(project, "test_store.py", "-k", "test_keys__ or test_audit__") > 20


def test_the_failure_that_the_guide_shows_is_the_one_that_is_seen(project: Path) -> None:
    shown = re.search(r"```text\n(AssertionError: .*?)```", GUIDE, flags=re.DOTALL)
    assert shown is not None
    (project / "test_failure.py").write_text(
        "import pytest\n"
        "from shop import charge, send_receipt\n"
        "async def test_it(backstay):\n"
        "    await backstay.run_job(charge, order=7, cents=100)\n"
        "    with pytest.raises(AssertionError) as failure:\n"
        "        await backstay.assert_enqueued(send_receipt.options(delay='5m'), order=8)\n"
        f"    assert f'AssertionError: {{failure.value}}\\n' == {shown[1]!r}\n"
    )

    assert passed(project, "test_failure.py") == 1


def test_every_public_name_is_documented() -> None:
    names = re.search(r"## Names\n(.*?)\n## ", REFERENCE, flags=re.DOTALL)
    assert names is not None

    documented = re.findall(r"^- `(\w+)` \S", names[1], flags=re.MULTILINE)

    assert sorted(documented) == sorted(backstay.testing.__all__)


def test_every_method_of_a_harness_is_documented_and_has_its_blocking_twin() -> None:
    documented = re.findall(r"^\| `(\w+)` \|", REFERENCE, flags=re.MULTILINE)

    assert documented == methods_of(Harness)
    assert sorted(documented) == sorted(methods_of(SyncHarness))
    for name in documented:
        assert arguments(Harness, name) == arguments(SyncHarness, name), name


def methods_of(harness: type) -> list[str]:
    return [name for name, _ in vars(harness).items() if name[0] != "_" and callable(getattr(harness, name))]


def arguments(harness: type, name: str) -> object:
    return inspect.signature(getattr(harness, name))


def test_every_fixture_is_documented() -> None:
    import pytest_backstay

    fixtures = [name for name in vars(pytest_backstay) if re.fullmatch(r"backstay\w*", name)]

    assert sorted(re.findall(r"^- `(backstay\w*)` ", REFERENCE, flags=re.MULTILINE)) == sorted(fixtures)
