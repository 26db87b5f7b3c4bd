"""The pytest plugin, in small projects of its own as users have them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import pytest

from backstay.testing import PrivatePostgres

pytest_plugins = ["pytester"]

SETTINGS = """
[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""

JOBS = """
from backstay import Backstay

app = Backstay("sqlite:////nowhere/of-production.db")

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
def backstay_application():
    return app
"""

ASYNC_TESTS = """
import pytest
from jobs import app, send_welcome, sign_up

@pytest.mark.parametrize("turn", [1, 2])
async def test_a_sign_up_welcomes_after_five_minutes(backstay, turn):
    await sign_up.enqueue(name="Ada")

    await backstay.drain()
    await backstay.assert_enqueued(send_welcome.options(delay="5m"), user_id=3)
    await backstay.travel("5m")

    assert (await backstay.drain()).completed == 1
    assert len(await backstay.enqueued(send_welcome)) == 1

async def test_the_result_of_one_job(backstay):
    assert await backstay.run_job(send_welcome, user_id=7) == "welcome 7"
"""

SYNC_TESTS = """
import pytest
from jobs import app, send_welcome, sign_up

@pytest.mark.parametrize("turn", [1, 2])
def test_a_sign_up_welcomes_after_five_minutes(backstay_sync, turn):
    sign_up.enqueue_sync(name="Ada")

    drained = backstay_sync.drain(with_scheduled=True)

    assert drained.completed == 2
    assert len(backstay_sync.enqueued(send_welcome, user_id=3)) == 1
"""

WEB = """
from contextlib import asynccontextmanager

from fastapi import FastAPI
from jobs import app, send_welcome

@asynccontextmanager
async def lifespan(web):
    yield
    await app.close()

web = FastAPI(lifespan=lifespan)

@web.post("/users/{user_id}")
async def sign_up(user_id: int):
    await send_welcome.enqueue(user_id=user_id)

@web.post("/blocking/{user_id}")
def sign_up_blocking(user_id: int):
    send_welcome.enqueue_sync(user_id=user_id)
"""

WEB_TESTS = """
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what it says of its own client
    from starlette.testclient import TestClient
from jobs import send_welcome
from web import web

def test_each_request_on_a_loop_of_its_own(backstay_sync):
    client = TestClient(web)

    client.post("/users/1")
    client.post("/users/2")
    client.post("/blocking/3")

    assert [job.args["user_id"] for job in backstay_sync.enqueued(send_welcome)] == [1, 2, 3]
    assert backstay_sync.drain().completed == 3

def test_a_lifespan_that_closes_the_application(backstay_sync):
    with TestClient(web) as client:
        client.post("/users/1")
    with TestClient(web) as client:
        client.post("/users/2")

    assert len(backstay_sync.enqueued(send_welcome)) == 2

async def test_beside_the_loop_of_the_test(backstay):
    with TestClient(web) as client:
        client.post("/users/1")

    await backstay.assert_enqueued(send_welcome, user_id=1)

def test_the_next_test_begins_with_nothing(backstay_sync):
    backstay_sync.refute_enqueued(send_welcome)
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.delenv("BACKSTAY_TEST_URL", raising=False)
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


def test_the_jobs_of_a_web_applications_requests_are_kept(project: pytest.Pytester) -> None:
    done = run(project, web=WEB, test_web=WEB_TESTS)

    done.assert_outcomes(passed=4)


def test_one_loop_for_all_tests_begins_each_with_nothing(project: pytest.Pytester) -> None:
    marked = "import pytest\npytestmark = pytest.mark.asyncio(loop_scope='session')\n"

    done = run(project, test_async=marked + ASYNC_TESTS)

    done.assert_outcomes(passed=3)


def test_the_database_can_come_from_the_environment(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, test_database: str
) -> None:
    monkeypatch.setenv("BACKSTAY_TEST_URL", test_database)
    seen = "from jobs import app\ndef test_where(backstay): assert app.url.startswith('postgresql://')"

    done = run(project, test_async=ASYNC_TESTS, test_sync=SYNC_TESTS, test_where=seen)

    done.assert_outcomes(passed=6)


def test_the_database_can_come_from_pytests_settings(project: pytest.Pytester, test_database: str) -> None:
    project.makefile(".ini", pytest=f"{SETTINGS}\nbackstay_test_url = {test_database}")
    seen = "from jobs import app\ndef test_where(backstay): assert app.url.startswith('postgresql://')"

    done = run(project, test_where=seen)

    done.assert_outcomes(passed=1)


def test_the_database_can_come_from_a_fixture(project: pytest.Pytester) -> None:
    test = """
        import pytest
        from jobs import app, send_welcome

        @pytest.fixture
        def backstay_url(tmp_path):
            return f"sqlite:///{tmp_path}/own.db"

        async def test_where(backstay, tmp_path):
            await send_welcome.enqueue(user_id=1)
            assert (tmp_path / "own.db").exists()
    """

    done = run(project, test_where=test)

    done.assert_outcomes(passed=1)


def test_a_failed_assertion_shows_what_was_enqueued(project: pytest.Pytester) -> None:
    test = """
        from jobs import send_welcome

        async def test_it(backstay):
            await send_welcome.enqueue(user_id=7)
            await backstay.assert_enqueued(send_welcome, user_id=8)

        def test_it_by_blocking_calls(backstay_sync):
            send_welcome.enqueue_sync(user_id=7)
            backstay_sync.refute_enqueued(send_welcome)
    """

    done = run(project, test_it=test)

    done.assert_outcomes(failed=2)
    done.stdout.fnmatch_lines(
        [
            ">*await backstay.assert_enqueued(send_welcome, user_id=8)",
            "E *AssertionError: no job 'send_welcome' with user_id=8 was enqueued. Nearest first, there are:",
            "E *send_welcome(user_id=7) [[]available, queue 'mail']: user_id is 7, not 8",
            ">*backstay_sync.refute_enqueued(send_welcome)",
            "E *AssertionError: a job 'send_welcome' should not have been enqueued:",
            "E *send_welcome(user_id=7) [[]available, queue 'mail']",
        ]
    )


def test_a_failing_test_leaves_nothing_for_the_next(project: pytest.Pytester) -> None:
    test = """
        from jobs import send_welcome

        async def test_first(backstay):
            await send_welcome.enqueue(user_id=7)
            assert await backstay.crash_worker() is None

        async def test_second(backstay):
            await backstay.refute_enqueued(send_welcome)
    """

    done = run(project, test_it=test)

    done.assert_outcomes(passed=1, failed=1)


def test_a_test_without_the_fixture_that_stores_jobs_is_warned(project: pytest.Pytester) -> None:
    project.makefile(".ini", pytest=SETTINGS.replace("filterwarnings = error", ""))
    test = """
        from backstay import Backstay

        app = Backstay()

        @app.job
        def work() -> None: ...

        def test_without():
            work.enqueue_sync()
            app.close_sync()

        def test_innocent(): ...
    """

    done = run(project, test_it=test)

    done.assert_outcomes(passed=2, warnings=1)
    done.stdout.fnmatch_lines(["*this test has stored jobs in */backstay.db*ask for the fixture 'backstay'*"])


def test_without_an_application_it_says_what_to_do(project: pytest.Pytester) -> None:
    project.makeconftest("")

    done = run(project, test_it="def test_it(backstay): ...")

    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*Define a fixture 'backstay_application' in your conftest.py*"])


def test_projects_that_do_not_use_it_pay_nothing() -> None:
    looked = (
        "import sys, pytest_backstay; print([name for name in sys.modules if name.startswith('backstay')])"
    )

    done = subprocess.run([sys.executable, "-c", looked], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
