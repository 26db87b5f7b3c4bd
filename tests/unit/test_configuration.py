"""Settings come from code, the environment, a file or the default, in this order, and bad ones stop the start."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from backstay import Backoff, Backstay
from backstay.errors import InvalidSettings
from backstay.model.policy.policy import resolve
from backstay.settings.settings import catalogue
from backstay.settings.sources import Settings, read_settings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def settings(
    folder: Path, environment: Mapping[str, str] | None = None, file: str = "", **code: object
) -> Settings:
    if file:
        (folder / "backstay.toml").write_text(file)
    return read_settings(code, environment or {}, folder)


def origin(read: Settings, name: str) -> tuple[Any, str]:
    return read.chosen[name].value, read.chosen[name].source


def test_without_any_word_every_setting_has_its_default(folder: Path) -> None:
    read = settings(folder)

    assert read.url == "sqlite:///backstay.db"
    assert read.tick == timedelta(seconds=5)
    assert {one.source for one in read.chosen.values()} == {"default"}
    assert not read.policy


def test_code_comes_before_the_environment_before_the_file_before_the_default(folder: Path) -> None:
    file = 'tick = "4s"\nconcurrency = 8\npoll_idle = "9s"\n'
    environment = {"BACKSTAY_TICK": "3s", "BACKSTAY_CONCURRENCY": "7"}

    read = settings(folder, environment, file, tick="2s")

    assert origin(read, "tick") == (timedelta(seconds=2), "code")
    assert origin(read, "concurrency") == (7, "environment variable BACKSTAY_CONCURRENCY")
    assert origin(read, "poll_idle") == (timedelta(seconds=9), str(folder / "backstay.toml"))
    assert origin(read, "poll_busy") == (timedelta(seconds=1), "default")


def test_a_table_of_pyproject_is_read_where_there_is_no_file_of_our_own(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.backstay]\nconcurrency = 8\n")

    value, source = origin(settings(folder), "concurrency")

    assert value == 8
    assert source == f"[tool.backstay] in {folder / 'pyproject.toml'}"


def test_our_own_file_comes_before_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.backstay]\nconcurrency = 8\n")

    assert origin(settings(folder, file="concurrency = 9\n"), "concurrency")[0] == 9


def test_a_variable_can_name_the_file(folder: Path) -> None:
    (folder / "mine.toml").write_text("concurrency = 8\n")

    assert origin(settings(folder, {"BACKSTAY_CONFIG": "mine.toml"}), "concurrency")[0] == 8
    with pytest.raises(InvalidSettings, match=r"there is no file .*gone.toml.*BACKSTAY_CONFIG"):
        settings(folder, {"BACKSTAY_CONFIG": "gone.toml"})


@pytest.mark.parametrize("text", ["concurrency = ", "[tool\nbackstay = 1"])
def test_a_file_that_is_not_toml_is_refused_by_name(folder: Path, text: str) -> None:
    with pytest.raises(InvalidSettings, match=r"cannot read the settings in .*backstay\.toml"):
        settings(folder, file=text)


def test_a_pyproject_that_says_nothing_of_us_is_not_judged(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("this is no TOML")

    assert settings(folder).url == "sqlite:///backstay.db"


def test_empty_variables_count_as_not_set(folder: Path) -> None:
    assert origin(settings(folder, {"BACKSTAY_URL": "", "BACKSTAY_TICK": " "}), "url")[1] == "default"


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("WORKER_ID", "mail-1", "worker_id", "mail-1"),
        ("WORKER_CONCURRENCY", "9", "concurrency", 9),
        ("MAX_CONCURRENT_JOBS", "9", "concurrency", 9),
        ("WORKER_POLL_INTERVAL", "1500", "poll_busy", timedelta(milliseconds=1500)),
        ("BPC_JOBS_POLL_INTERVAL_MS", "1500", "poll_busy", timedelta(milliseconds=1500)),
        ("BPC_JOBS_LEASE_SECONDS", "90", "lease", timedelta(seconds=90)),
        ("BPC_JOBS_LEASE_RENEW_SECONDS", "30", "renew_every", timedelta(seconds=30)),
        ("BPC_PAYLOAD_MAX_BYTES", "131072", "max_payload_bytes", 131072),
    ],
)
def test_other_names_are_read_in_their_own_units(
    folder: Path, variable: str, text: str, name: str, value: object
) -> None:
    assert origin(settings(folder, {variable: text}), name) == (value, f"environment variable {variable}")


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("POLL_INTERVAL", "1000", "poll_busy", timedelta(seconds=1)),
        ("JOB_TYPES", "import,report", "kinds", ("import", "report")),
        ("JOB_TYPES", "*", "kinds", None),
        ("DEFAULT_TIMEOUT", "300000", "timeout", timedelta(minutes=5)),
        ("MAX_TIMEOUT", "3600000", "max_timeout", timedelta(hours=1)),
        ("MAX_RETRIES", "3", "max_attempts", 4),
        ("RETRY_DELAY", "1000", "backoff_base", timedelta(seconds=1)),
        ("BACKOFF_MULTIPLIER", "2.0", "backoff_multiplier", 2.0),
        ("HEARTBEAT_INTERVAL", "10000", "tick", timedelta(seconds=10)),
        ("SHUTDOWN_TIMEOUT", "30000", "shutdown_grace", timedelta(seconds=30)),
        (
            "SUPABASE_CONNECTION_POOLER_URL",
            "postgresql://db/jobs",
            "url",
            "postgresql://db/jobs?pooled=true",
        ),
    ],
)
def test_general_names_are_read_only_where_that_was_asked_for(
    folder: Path, variable: str, text: str, name: str, value: object
) -> None:
    asked = settings(folder, {variable: text}, aliases="all")
    not_asked = settings(folder, {variable: text})

    assert origin(asked, name) == (value, f"environment variable {variable}")
    assert origin(not_asked, name)[1] == "default"


def test_no_other_names_are_read_where_that_was_asked_for(folder: Path) -> None:
    assert settings(folder, {"WORKER_ID": "x"}, aliases="none").worker_id is None


def test_it_is_told_which_name_won(folder: Path) -> None:
    told: list[tuple[str, dict[str, Any]]] = []
    environment = {"MAX_CONCURRENT_JOBS": "9", "WORKER_CONCURRENCY": "7", "BACKSTAY_CONCURRENCY": "8"}

    settings(folder, environment).tell(lambda event, /, **facts: told.append((event, facts)))

    assert told == [
        (
            "setting.chosen",
            {
                "setting": "concurrency",
                "value": "8",
                "source": "environment variable BACKSTAY_CONCURRENCY",
                "passed_over": [
                    "environment variable WORKER_CONCURRENCY",
                    "environment variable MAX_CONCURRENT_JOBS",
                ],
            },
        )
    ]


def test_the_same_word_twice_is_not_worth_telling(folder: Path) -> None:
    read = settings(folder, {"WORKER_CONCURRENCY": "7", "BACKSTAY_CONCURRENCY": "7"})

    assert read.chosen["concurrency"].passed_over == ()


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (
            {"BACKSTAY_CONCURRENCY": "lots"},
            "concurrency cannot be 'lots' (environment variable BACKSTAY_CONCURRENCY): "
            "it needs a whole number from 1 to 10000",
        ),
        (
            {"MAX_CONCURRENT_JOBS": "0"},
            "concurrency cannot be '0' (environment variable MAX_CONCURRENT_JOBS): "
            "it needs a whole number from 1 to 10000",
        ),
        (
            {"BACKSTAY_TICK": "1m"},
            "tick cannot be '1m' (environment variable BACKSTAY_TICK): it needs a duration from 100ms to 10s",
        ),
        (
            {"BACKSTAY_RETRY_UNKNOWN": "perhaps"},
            "retry_unknown cannot be 'perhaps' (environment variable BACKSTAY_RETRY_UNKNOWN): "
            "it needs True or False",
        ),
        (
            {"BACKSTAY_LOG_LEVEL": "loud"},
            "log_level cannot be 'loud' (environment variable BACKSTAY_LOG_LEVEL): "
            "it needs one of debug, info, warning, error",
        ),
        (
            {"BACKSTAY_URL": "mysql://ada:secret@db/jobs"},
            "url cannot be 'mysql://ada:***@db/jobs' (environment variable BACKSTAY_URL): "
            "it needs a URL that begins with sqlite:// or postgresql://",
        ),
        (
            {"BPC_JOBS_LEASE_SECONDS": "60", "BPC_JOBS_LEASE_RENEW_SECONDS": "60"},
            "renew_every cannot be '1m' (environment variable BPC_JOBS_LEASE_RENEW_SECONDS): "
            "it needs at most half the lease (0:01:00)",
        ),
        (
            {"BACKSTAY_TICK": "5s", "BACKSTAY_LEADER_LEASE": "6s"},
            "leader_lease cannot be '6s' (environment variable BACKSTAY_LEADER_LEASE): it needs at least 2 ticks, "
            "which are 10s (tick is 5s, environment variable BACKSTAY_TICK)",
        ),
    ],
)
def test_a_bad_value_stops_with_its_source_and_what_is_allowed(
    folder: Path, environment: dict[str, str], message: str
) -> None:
    with pytest.raises(InvalidSettings) as refused:
        settings(folder, environment)

    assert str(refused.value) == message


def test_a_bad_value_in_a_file_names_the_file(folder: Path) -> None:
    with pytest.raises(
        InvalidSettings, match=r"concurrency cannot be True \(.*backstay.toml\): it needs a whole"
    ):
        settings(folder, file="concurrency = true\n")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("concurency", "did you mean 'concurrency'?"),
        ("poll-busy", "did you mean 'poll_busy'?"),
        ("zzz", "lists"),
    ],
)
def test_an_unknown_key_of_a_file_is_refused_with_the_nearest_name(folder: Path, key: str, hint: str) -> None:
    with pytest.raises(InvalidSettings, match=f"there is no setting '{key}'") as refused:
        settings(folder, file=f"{key} = 1\n")

    assert hint in str(refused.value)


def test_an_unknown_variable_is_told_with_the_nearest_name(folder: Path) -> None:
    told: list[tuple[str, dict[str, Any]]] = []

    settings(folder, {"BACKSTAY_CONCURENCY": "9", "BACKSTAY_TEST_URL": "x"}).tell(
        lambda event, /, **facts: told.append((event, facts))
    )

    assert told == [("setting.unknown", {"variable": "BACKSTAY_CONCURENCY", "meant": "BACKSTAY_CONCURRENCY"})]


def test_what_is_measured_in_ticks_follows_a_tick_that_was_set(folder: Path) -> None:
    read = settings(folder, tick="1s")

    assert read.leader_lease == timedelta(seconds=2.2)
    assert read.worker_timeout == timedelta(seconds=6)


def test_numbers_of_the_policy_lie_below_those_of_the_code(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    monkeypatch.setenv("BACKSTAY_MAX_ATTEMPTS", "9")
    monkeypatch.setenv("BACKSTAY_TIMEOUT", "90s")
    app = Backstay("sqlite://:memory:")

    @app.job(max_attempts=2)
    async def send() -> None: ...

    policy = app._builder.policy_of(app._registry.get("send"), "default")
    assert (policy.max_attempts, policy.timeout) == (2, timedelta(seconds=90))


def test_a_backoff_is_put_together_from_its_parts(folder: Path) -> None:
    read = settings(folder, {"BACKSTAY_BACKOFF_BASE": "5", "BACKSTAY_BACKOFF_CAP": "none"})

    assert resolve(read.policy).backoff == Backoff("5s", cap=None)


def test_every_setting_takes_its_own_default_as_it_is_shown(folder: Path) -> None:
    shown = {setting.variable: settings(folder).chosen[name].text for name, setting in catalogue().items()}

    read = settings(folder, shown)

    assert {name: one.value for name, one in read.chosen.items()} == {
        name: setting.default for name, setting in catalogue().items()
    }
