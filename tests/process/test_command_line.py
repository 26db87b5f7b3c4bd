"""The command line as people use it: real processes, a real file, real signals."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from backstay import Backstay, Job
from backstay.cli.commands import backstay
from backstay.options import JobOptions
from backstay.testing import PrivatePostgres

DEADLINE = 30.0

SHOP = """
import time
from pathlib import Path
from backstay import Hopeless, Backstay

app = Backstay("sqlite:///shop.db")
greeting = "hello"

@app.job
async def add(a: int, b: int = 2) -> int:
    return a + b

@app.job(queue="mail")
def send_mail(to: str) -> str:
    return f"{greeting} {to}"

@app.job
async def broken() -> None:
    raise Hopeless("the template [b]is[/b] gone")

@app.job
def wait_for_file(name: str) -> str:
    Path(name + ".started").touch()
    give_up = time.monotonic() + 30
    while not Path(name).exists() and time.monotonic() < give_up:
        time.sleep(0.01)
    return "seen"
"""


@dataclass(frozen=True)
class Shop:
    """A directory with an application in it, and a way to run commands there."""

    directory: Path
    app: Backstay

    def run(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self._command(arguments),
            cwd=self.directory,
            env=self._environment(variables),
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def ok(self, *arguments: str) -> str:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def json(self, *arguments: str) -> Any:
        return json.loads(self.ok(*arguments, "--app", "shop:app", "--json"))

    def refused(self, *arguments: str, code: int = 1) -> str:
        """What a command that fails says; never a traceback."""
        done = self.run(*arguments)
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stderr

    def enqueue(self, kind: str, *, queue: str | None = None, **arguments: Any) -> str:
        """Store a job from this process, where how it is stored is not what is tested."""
        handle = self.app.sync.jobs.enqueue_by_name(kind, arguments, JobOptions(queue=queue))
        return str(handle.id)

    def job(self, job_id: str) -> Job:
        """The job as it is now, as this process sees it."""
        return self.app.sync.jobs.get(job_id)

    def state(self, job_id: str) -> str:
        return str(self.job(job_id).state)

    @contextmanager
    def started(self, *arguments: str) -> Iterator[Running]:
        """A command that goes on; it is stopped if the test leaves it running."""
        log = self.directory / "log.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                self._command(arguments),
                cwd=self.directory,
                env=self._environment({}),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield Running(process, log)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=DEADLINE)

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "backstay", *arguments]

    def _environment(self, variables: dict[str, str]) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("BACKSTAY_", "COLUMNS"))
        }
        return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **variables}


@dataclass(frozen=True)
class Running:
    """A command that is running, and what it has printed."""

    process: subprocess.Popen[bytes]
    log: Path

    def printed(self) -> str:
        return self.log.read_text()

    def says(self, text: str, *, times: int = 1) -> None:
        until(lambda: self.printed().count(text) >= times, what=f"{text!r} in the output", running=self)

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        return self.process.wait(timeout=DEADLINE)


def until(holds: Callable[[], bool], *, what: str, running: Running | None = None) -> None:
    """Wait for a fact, with a deadline."""
    give_up = time.monotonic() + DEADLINE
    while not holds():
        printed = running.printed() if running else ""
        assert time.monotonic() < give_up, f"no {what} within {DEADLINE:g} s\n{printed}"
        time.sleep(0.02)


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    (tmp_path / "shop.py").write_text(SHOP)
    app = Backstay(f"sqlite:///{tmp_path}/shop.db")
    for kind in ("add", "broken", "wait_for_file"):
        app.declare(kind)
    app.declare("send_mail", queue="mail")
    yield Shop(tmp_path, app)
    app.close_sync()


@pytest.fixture
def answer_to(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """What a command that fails says, from this process, because there are many ways to fail."""
    log = logging.getLogger("backstay")
    before = (log.handlers[:], log.level, log.propagate)
    monkeypatch.chdir(shop.directory)
    monkeypatch.syspath_prepend(str(shop.directory))
    monkeypatch.delitem(sys.modules, "shop", raising=False)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(backstay, arguments)
        assert done.exit_code == 1, done.output
        return done.stderr

    yield run
    sys.modules.pop("shop", None)
    log.handlers[:], log.level, log.propagate = before


def test_a_worker_runs_what_was_enqueued_and_stops_gracefully(shop: Shop) -> None:
    with shop.started("worker", "shop:app", "--log", "console", "--concurrency", "3") as worker:
        worker.says("worker.started")
        answer = shop.json("enqueue", "add", "a=40", "--timeout", "20s")
        worker.signal(signal.SIGTERM)
        code = worker.ended()

    assert code == 0
    assert (answer["state"], answer["result"]) == ("completed", 42)
    first_line = worker.printed().splitlines()[0]
    assert re.fullmatch(
        r"Worker \S+ on sqlite:///shop\.db: 4 kinds \(add, broken, send_mail, wait_for_file\) "
        r"from default, mail, 3 at a time\.",
        first_line,
    )
    assert shop.json("workers")["workers"][0]["state"] == "stopped"


def test_a_worker_lets_a_running_job_finish_after_the_first_signal(shop: Shop) -> None:
    job_id = shop.enqueue("wait_for_file", name="go")
    with shop.started("worker", "shop:app") as worker:
        until(lambda: (shop.directory / "go.started").exists(), what="running job", running=worker)
        worker.signal(signal.SIGINT)
        worker.says("worker.stopping")
        (shop.directory / "go").touch()
        code = worker.ended()

    assert code == 0
    assert shop.state(job_id) == "completed"


def test_a_second_signal_leaves_at_once(shop: Shop) -> None:
    job_id = shop.enqueue("wait_for_file", name="never")
    with shop.started("worker", "shop:app") as worker:
        until(lambda: (shop.directory / "never.started").exists(), what="running job", running=worker)
        worker.signal(signal.SIGTERM)
        worker.says("worker.stopping")
        worker.signal(signal.SIGTERM)
        code = worker.ended()

    assert code == 128 + signal.SIGTERM
    assert shop.state(job_id) == "running"


def test_a_worker_logs_json_where_nobody_looks(shop: Shop) -> None:
    with shop.started("worker", "shop:app", "--worker-id", "shop-${NAME:-one}") as worker:
        worker.says("worker.started")
        worker.signal(signal.SIGTERM)
        worker.ended()

    lines = [json.loads(line) for line in worker.printed().splitlines()]
    assert lines[0]["context"]["worker"].startswith("shop-one-")
    assert [line["message"] for line in lines[:2]] == ["worker.starting", "worker.started"]
    assert lines[-1]["message"] == "worker.stopped"


def test_a_worker_looks_only_where_it_is_told_to(shop: Shop) -> None:
    sent, added = shop.enqueue("send_mail", to="ann"), shop.enqueue("add", a=1)
    with shop.started("worker", "shop:app", "--queues", "mail", "--kinds", "send_mail,add") as worker:
        until(lambda: shop.state(sent) == "completed", what="sent mail", running=worker)
        worker.signal(signal.SIGTERM)
        worker.ended()

    assert shop.state(added) == "available"


def test_dev_starts_again_when_the_code_changes(shop: Shop) -> None:
    with shop.started("dev", "shop:app") as dev:
        dev.says("worker.started")
        (shop.directory / "shop.py").write_text(SHOP.replace('"hello"', '"good day"'))
        dev.says("has changed: starting again")
        dev.says("worker.started", times=2)
        answer = shop.json("enqueue", "send_mail", "to=ann", "--timeout", "20s")
        dev.signal(signal.SIGINT)
        code = dev.ended()

    assert code == 0
    assert answer["result"] == "good day ann"
    assert {worker["state"] for worker in shop.json("workers")["workers"]} == {"stopped"}


def test_dev_gives_back_what_runs_when_the_code_changes(shop: Shop) -> None:
    job_id = shop.enqueue("wait_for_file", name="go")
    with shop.started("dev", "shop:app") as dev:
        until(lambda: (shop.directory / "go.started").exists(), what="running job", running=dev)
        (shop.directory / "shop.py").write_text(SHOP.replace('"seen"', '"seen by the new code"'))
        dev.says("worker.started", times=2)
        (shop.directory / "go").touch()
        until(lambda: shop.state(job_id) == "completed", what="completed job", running=dev)

    job = shop.job(job_id)
    assert (job.result, job.attempt, job.run) == ("seen by the new code", 1, 2)


def test_dev_waits_for_code_that_works(shop: Shop) -> None:
    (shop.directory / "shop.py").write_text("def (")
    with shop.started("dev", "shop:app") as dev:
        dev.says("The worker has ended")
        (shop.directory / "shop.py").write_text(SHOP)
        dev.says("worker.started")
        dev.signal(signal.SIGTERM)
        code = dev.ended()

    assert code == 0
    assert "cannot import 'shop': invalid syntax" in dev.printed()


def test_arguments_come_as_pairs_or_as_json(shop: Shop) -> None:
    pairs = shop.json("enqueue", "add", "a=1", "b=-5")
    text = shop.json("enqueue", "send_mail", "to=123")
    document = shop.json("enqueue", "add", "--args", '{"a": 7}')

    arguments = [shop.job(stored["id"]).args for stored in (pairs, text, document)]

    assert arguments == [{"a": 1, "b": -5}, {"to": "123"}, {"a": 7}]


def test_options_of_a_job_are_kept(shop: Shop) -> None:
    pairs = {"--queue": "bulk", "--priority": "2", "--delay": "5m", "--tenant": "acme", "--key": "k1"}
    options = ["--tag", "eu", "--tag", "vip", *itertools.chain(*pairs.items())]
    first = shop.json("enqueue", "add", "a=1", *options)
    again = shop.json("enqueue", "add", "a=1", *options)

    job = shop.job(first["id"])

    assert (again["id"], again["is_new"]) == (first["id"], False)
    assert (job.queue, job.priority, job.tenant, job.tags) == ("bulk", 2, "acme", ("eu", "vip"))
    assert job.state == "scheduled"
    assert [found["id"] for found in shop.json("jobs", "--tag", "vip", "--tenant", "acme")["jobs"]] == [
        first["id"]
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["add", "a=x"], "Expected `int`, got `str` (field 'a')"),
        (["add"], "(field 'a')"),
        (["add", "c=1"], "unknown argument, it takes a, b (field 'c')"),
        (["add", "--args", '{"a": NaN}'], "NaN, which is not a JSON number at /a"),
        (["add", "--args", '{"a": 1, "a": 2}'], "the same key twice at /a"),
        (["add", "--args", "{"], "--args is not well formed at byte 1"),
        (["add", "--args", "[1]"], "must be a JSON object"),
        (["add", "three"], "'three' is not an argument: write name=value"),
        (["add", "a=1", "--delay", "soon"], "delay cannot be 'soon'"),
        (["add", "a=1", "--run-at", "2030-05-17T12:00:00"], "has no time zone"),
        (["ad", "a=1"], "Did you mean 'add'?"),
    ],
)
def test_a_job_that_cannot_be_is_refused_with_the_place(
    answer_to: Callable[..., str], arguments: list[str], said: str
) -> None:
    assert said in answer_to("enqueue", *arguments, "--app", "shop:app")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["jobs"], "there is no database"),
        (["jobs", "--url", "mysql://x"], "begins with sqlite:// or postgresql://"),
        (["jobs", "--url", "postgresql://ann:secret@127.0.0.1:1/x"], "postgresql://ann:***@127.0.0.1:1/x"),
        (["job", "nonsense", "--app", "shop:app"], "no job nonsense"),
    ],
)
def test_a_slip_is_answered_with_what_helps(
    answer_to: Callable[..., str], arguments: list[str], said: str
) -> None:
    answer = answer_to(*arguments)

    assert said in answer
    assert "secret" not in answer


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["shp:app"], "cannot find the module 'shp'"),
        (["shp:app"], "did you mean 'shop'?"),
        (["shop:ap"], "module 'shop' has no 'ap'; it has shop:app"),
        (["shop:greeting"], "shop:greeting is no Backstay but of type str; it has shop:app"),
        (["shop.py"], "name the module, as in shop:app"),
        (["shop:app", "--kinds", "ad"], "Did you mean 'add'?"),
        (["shop:app", "--worker-id", "${NOT_SET}"], "NOT_SET, which is not set"),
    ],
)
def test_a_worker_that_cannot_be_is_refused_with_what_helps(
    shop: Shop, arguments: list[str], said: str
) -> None:
    assert said in shop.refused("worker", *arguments)


def test_wrong_usage_has_its_own_exit_code(shop: Shop) -> None:
    assert "No such command" in shop.refused("job-s", code=2)
    assert "--reason" in shop.refused("pause", "mail", code=2)
    assert "either a queue or" in shop.refused("resume", code=2)
    shop.ok("db", "migrate", "--app", "shop:app")
    assert "lost" in shop.refused("jobs", "--state", "lost", "--app", "shop:app")


def test_debug_shows_the_traceback(shop: Shop) -> None:
    done = shop.run("worker", "shp:app", "--debug")

    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_an_error_is_a_document_too(shop: Shop) -> None:
    done = shop.run("enqueue", "add", "--args", '{"a": 1e999}', "--app", "shop:app", "--json")

    error = json.loads(done.stdout)["error"]
    assert done.returncode == 1
    assert (error["type"], error["pointer"]) == ("InvalidPayload", "/a")


def test_a_job_is_held_released_moved_and_cancelled(shop: Shop) -> None:
    job_id = shop.enqueue("add", a=1)
    seen = []
    for action in (
        ["hold", job_id, "--reason", "not yet", "--by", "ann"],
        ["release", job_id],
        ["reschedule", job_id, "--delay", "1h"],
        ["priority", job_id, "1", "--reason", "urgent"],
        ["run-now", job_id],
        ["cancel", job_id, "--reason", "not needed"],
    ):
        shop.json("job", *action)
        seen.append(shop.state(job_id))

    history = shop.app.sync.jobs.history(job_id)

    clone = shop.json("job", "clone", job_id, "--reason", "again")
    assert shop.state(clone["job_id"]) == "available"
    assert seen == ["held", "available", "scheduled", "scheduled", "available", "cancelled"]
    assert (history[0].actor, history[0].reason) == ("ann", "not yet")
    assert "cannot hold" in shop.refused("job", "hold", job_id, "--reason", "x", "--app", "shop:app")


def test_dead_jobs_are_listed_shown_retried_and_resolved(shop: Shop) -> None:
    job_id = shop.enqueue("broken")
    with shop.started("worker", "shop:app") as worker:
        until(lambda: shop.state(job_id) == "dead", what="dead job", running=worker)
        worker.signal(signal.SIGTERM)
        worker.ended()

    listed = shop.ok("dead", "--app", "shop:app")
    shown = shop.ok("job", job_id, "--app", "shop:app")
    waited = shop.run("enqueue", "broken", "--app", "shop:app", "--timeout", "10ms")
    grouped = shop.json("dead", "groups")["groups"]
    investigated = shop.ok("dead", "investigate", job_id, "--by", "ann", "--app", "shop:app")
    late = shop.refused("dead", "ignore", job_id, "--reason", "x", "--version", "1", "--app", "shop:app")
    resolved = shop.ok("dead", "resolve", job_id, "--reason", "sent by hand", "--app", "shop:app")

    # What a job says is printed as it is, never read as markup.
    assert "the template [b]is[/b] gone" in listed
    assert "shop.py" in shown
    assert "Runs" in shown
    assert (waited.returncode, "is still available" in waited.stderr) == (1, True)
    assert "is resolved" in resolved
    assert (grouped[0]["letters"], grouped[0]["job_id"]) == (1, job_id)
    assert "looks into" in investigated
    assert "was changed by ann" in late
    assert shop.json("dead")["dead_letters"] == []
    assert shop.json("dead", job_id)["dead_letters"][0]["resolution"] == "sent by hand"
    assert "cannot retry" in shop.refused("dead", "retry", job_id, "--reason", "x", "--app", "shop:app")
    assert shop.json("dead", "retry", "--all", "--dry-run", "--reason", "x")["letters"] == 0
    assert shop.json("dead", "resolve", "--all", "--kind", "broken", "--reason", "x")["done"] == 0
    edited = ("dead", "retry", job_id, "--as-new", "--reason", "x", "--app", "shop:app", "--args")
    assert "must be a JSON object" in shop.refused(*edited, "[]")
    assert "cannot retry" in shop.refused(*edited, "{}")
    assert "say which" in shop.refused("dead", "retry", "--reason", "x", "--app", "shop:app")


def test_a_list_goes_on_where_it_ended(shop: Shop) -> None:
    ids = [shop.enqueue("add", a=number) for number in range(3)]

    first = shop.json("jobs", "--limit", "2")
    rest = shop.json("jobs", "--limit", "2", "--cursor", first["cursor"])

    assert [job["id"] for job in first["jobs"] + rest["jobs"]] == ids[::-1]
    assert rest["cursor"] is None


def test_a_table_is_not_cut_in_a_pipe(shop: Shop) -> None:
    job_id = shop.enqueue("wait_for_file", name="x", queue="a-queue-with-a-rather-long-name")

    lines = shop.ok("jobs", "--app", "shop:app").splitlines()

    assert lines[0].split() == ["id", "kind", "queue", "state", "attempt", "when", "took"]
    assert lines[1].split()[:4] == [job_id, "wait_for_file", "a-queue-with-a-rather-long-name", "available"]


def test_a_pause_is_seen_everywhere_and_ends(shop: Shop) -> None:
    job_id = shop.enqueue("send_mail", to="ann")
    shop.ok("pause", "mail", "--reason", "smtp is down", "--by", "ann", "--app", "shop:app")

    queues = {queue["queue"]: queue for queue in shop.json("queues")["queues"]}
    reasons = shop.json("job", job_id)["why"]
    resumed = shop.json("resume", "mail")

    assert (queues["mail"]["jobs"], queues["mail"]["paused_by"]) == ({"available": 1}, "ann")
    assert reasons[0].startswith("The queue 'mail' was paused by ann")
    assert resumed["was_paused"] is True
    assert shop.json("resume", "mail")["was_paused"] is False


def test_the_doctor_reports_by_exit_code(shop: Shop) -> None:
    shop.ok("db", "migrate", "--app", "shop:app")
    sound = shop.run("doctor", "--app", "shop:app", "--json")
    shop.enqueue("add", a=1)

    ill = shop.run("doctor", "--app", "shop:app")

    assert (sound.returncode, json.loads(sound.stdout)["is_healthy"]) == (0, True)
    assert ill.returncode == 1
    assert "jobs wait and no worker is alive" in ill.stdout


@pytest.fixture
def empty_postgres(postgres_server: PrivatePostgres) -> Iterator[str]:
    postgres_server.create_database("command_line")
    yield postgres_server.url("command_line")
    postgres_server.drop_database("command_line")


def test_tables_are_made_checked_and_found_changed_on_postgres(shop: Shop, empty_postgres: str) -> None:
    url = ("--url", empty_postgres)
    before = [shop.refused(*command, *url) for command in (["jobs"], ["db", "check"], ["worker", "shop:app"])]

    applied = json.loads(shop.ok("db", "migrate", *url, "--json"))["applied"]
    again = json.loads(shop.ok("db", "migrate", *url, "--json"))["applied"]
    sound = shop.ok("db", "check", *url)
    _execute(empty_postgres, "DROP INDEX backstay.jobs_dead")
    changed = shop.run("db", "check", *url)

    assert all("backstay db migrate" in said for said in before)
    assert (applied[0], again) == ("0001 first", [])
    assert "those of this release" in sound
    assert changed.returncode == 1
    assert "missing: index jobs_dead" in changed.stdout
    assert shop.run("doctor", *url).returncode == 1


def test_migrations_can_be_read_instead_of_run(shop: Shop, empty_postgres: str) -> None:
    script = shop.ok("db", "migrate", "--sql", "--url", empty_postgres)

    _execute(empty_postgres, script)

    assert shop.ok("db", "check", "--url", empty_postgres)
    assert "CREATE TABLE backstay_jobs" in shop.ok("db", "migrate", "--sql", "--url", "sqlite:///new.db")
    assert not (shop.directory / "new.db").exists()


def _execute(url: str, sql: str) -> None:
    import asyncio

    import asyncpg

    async def execute() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(sql)
        await connection.close()

    asyncio.run(execute())


def test_the_url_comes_from_the_environment(shop: Shop) -> None:
    shop.enqueue("add", a=1)
    done = shop.run("jobs", "--json", BACKSTAY_URL="sqlite:///shop.db")

    assert [job["kind"] for job in json.loads(done.stdout)["jobs"]] == ["add"]


def test_version_and_help_are_there(shop: Shop) -> None:
    assert re.fullmatch(r"backstay \d+\.\d+\.\d+\n", shop.ok("--version"))
    commands = ("worker", "dev", "enqueue", "jobs", "job", "dead", "queues", "workers", "pause", "resume")
    overview = shop.ok("--help")
    assert [name for name in (*commands, "db", "doctor") if name not in overview] == []
