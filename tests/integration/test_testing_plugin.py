"""The pytest plugin, in small projects of its own as users have them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from windlass.testing import PrivatePostgres

pytest_plugins = ["pytester"]

SETTINGS = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""

JOBS = """
from windlass import Windlass

app = Windlass("sqlite:////nowhere/of-production.db")

@app.job(queue="mail")
async def send_welcome(user_id: int) -> str:
    return f"welcome {user_id}"

@app.job
def sign_up(name: str) -> int:
    send_welcome.options(delay="5m").enqueue_sync(user_id=len(name))
    return len(name)
"""

CONFTEST = """
import pytest
from jobs import app

@pytest.fixture
def windlass_application():
    return app
"""

ASYNC_TESTS = """
import pytest
from jobs import app, send_welcome, sign_up

@pytest.mark.parametrize("turn", [1, 2])
async def test_a_sign_up_welcomes_after_five_minutes(windlass, turn):
    await sign_up.enqueue(name="Ada")

    await windlass.drain()
    await windlass.assert_enqueued(send_welcome.options(delay="5m"), user_id=3)
    await windlass.travel("5m")

    assert (await windlass.drain()).completed == 1
    assert len(await windlass.enqueued(send_welcome)) == 1

async def test_the_result_of_one_job(windlass):
    assert await windlass.run_job(send_welcome, user_id=7) == "welcome 7"
"""

SYNC_TESTS = """
import pytest
from jobs import app, send_welcome, sign_up

@pytest.mark.parametrize("turn", [1, 2])
def test_a_sign_up_welcomes_after_five_minutes(windlass_sync, turn):
    sign_up.enqueue_sync(name="Ada")

    drained = windlass_sync.drain(with_scheduled=True)

    assert drained.completed == 2
    assert len(windlass_sync.enqueued(send_welcome, user_id=3)) == 1
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("WINDLASS_TEST_URL", raising=False)
    pytester.makefile(".ini", pytest=SETTINGS)
    pytester.makepyfile(jobs=JOBS)
    pytester.makeconftest(CONFTEST)
    return pytester


@pytest.fixture(scope="module")
def test_database(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("plugin")
    yield postgres_server.url("plugin")
    postgres_server.drop_database("plugin")


def run(project: pytest.Pytester, **files: str) -> pytest.RunResult:
    project.makepyfile(**files)
    return project.runpytest_subprocess("-p", "no:randomly", "-p", "no:cacheprovider")


def test_asynchronous_and_blocking_tests_pass(project: pytest.Pytester) -> None:
    done = run(project, test_async=ASYNC_TESTS, test_sync=SYNC_TESTS)

    done.assert_outcomes(passed=5)


def test_one_loop_for_all_tests_begins_each_with_nothing(project: pytest.Pytester) -> None:
    marked = "import pytest\npytestmark = pytest.mark.asyncio(loop_scope='session')\n"

    done = run(project, test_async=marked + ASYNC_TESTS)

    done.assert_outcomes(passed=3)


def test_the_database_can_come_from_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, test_database: str
) -> None:
    monkeypatch.setenv("WINDLASS_TEST_URL", test_database)
    seen = "from jobs import app\ndef test_where(windlass): assert app.url.startswith('postgresql://')"

    done = run(project, test_async=ASYNC_TESTS, test_sync=SYNC_TESTS, test_where=seen)

    done.assert_outcomes(passed=6)


def test_the_database_can_come_from_pytests_settings(project: pytest.Pytester, test_database: str) -> None:
    project.makefile(".ini", pytest=f"{SETTINGS}\nwindlass_test_url = {test_database}")
    seen = "from jobs import app\ndef test_where(windlass): assert app.url.startswith('postgresql://')"

    done = run(project, test_where=seen)

    done.assert_outcomes(passed=1)


def test_the_database_can_come_from_a_fixture(project: pytest.Pytester) -> None:
    test = """
        import pytest
        from jobs import app, send_welcome

        @pytest.fixture
        def windlass_url(tmp_path):
            return f"sqlite:///{tmp_path}/own.db"

        async def test_where(windlass, tmp_path):
            await send_welcome.enqueue(user_id=1)
            assert (tmp_path / "own.db").exists()
    """

    done = run(project, test_where=test)

    done.assert_outcomes(passed=1)


def test_a_failed_assertion_shows_what_was_enqueued(project: pytest.Pytester) -> None:
    test = """
        from jobs import send_welcome

        async def test_it(windlass):
            await send_welcome.enqueue(user_id=7)
            await windlass.assert_enqueued(send_welcome, user_id=8)

        def test_it_by_blocking_calls(windlass_sync):
            send_welcome.enqueue_sync(user_id=7)
            windlass_sync.refute_enqueued(send_welcome)
    """

    done = run(project, test_it=test)

    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        [
            ">*await windlass.assert_enqueued(send_welcome, user_id=8)",
            "E *AssertionError: no job 'send_welcome' with user_id=8 was enqueued. Nearest first, there are:",
            "E *send_welcome(user_id=7) [[]available, queue 'mail']: user_id is 7, not 8",
            ">*windlass_sync.refute_enqueued(send_welcome)",
            "E *AssertionError: a job 'send_welcome' should not have been enqueued:",
            "E *send_welcome(user_id=7) [[]available, queue 'mail']",
        ]
    )


def test_a_failing_test_leaves_nothing_for_the_next(project: pytest.Pytester) -> None:
    test = """
        from jobs import send_welcome

        async def test_first(windlass):
            await send_welcome.enqueue(user_id=7)
            assert await windlass.crash_worker() is None

        async def test_second(windlass):
            await windlass.refute_enqueued(send_welcome)
    """

    done = run(project, test_it=test)

    done.assert_outcomes(passed=1, failed=1)


def test_without_an_application_it_says_what_to_do(project: pytest.Pytester) -> None:
    project.makeconftest("")

    done = run(project, test_it="def test_it(windlass): ...")

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*Define a fixture 'windlass_application' in your conftest.py*"])


def test_projects_that_do_not_use_it_pay_nothing() -> None:
    looked = (
        "import sys, pytest_windlass; print([name for name in sys.modules if name.startswith('windlass')])"
    )

    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
