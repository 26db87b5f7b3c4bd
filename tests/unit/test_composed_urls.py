"""URLs of servers whose environments hold them in parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from backstay.errors import InvalidSettings
from backstay.settings.sources import read_settings

POSTGRES = {"POSTGRES_HOST": "db.internal", "POSTGRES_DB": "shop", "POSTGRES_USER": "ada"}
ALL = {"BACKSTAY_ALIASES": "all"}


def url_of(environment: dict[str, str]) -> str:
    return read_settings({}, environment, Path("/nowhere")).url


def test_a_database_is_found_by_host_name_and_user() -> None:
    secret = {"POSTGRES_PASSWORD": "p@ss/word", "POSTGRES_PORT": "6000"}

    assert url_of(ALL | POSTGRES) == "postgresql://ada@db.internal:5432/shop"
    assert url_of(ALL | POSTGRES | secret) == "postgresql://ada:p%40ss%2Fword@db.internal:6000/shop"


@pytest.mark.parametrize("missing", POSTGRES)
def test_a_database_that_lacks_one_of_them_is_not_meant(missing: str) -> None:
    environment = ALL | {name: value for name, value in POSTGRES.items() if name != missing}

    assert url_of(environment) == "sqlite:///backstay.db"


def test_names_of_everybody_are_read_only_where_that_was_asked_for() -> None:
    own = {"BACKSTAY_URL": "sqlite:///own.db"}

    assert url_of(POSTGRES) == "sqlite:///backstay.db"
    assert url_of(ALL | POSTGRES | own) == "sqlite:///own.db"
    assert read_settings({}, {"REDIS_HOST": "redis"}, Path("/nowhere")).wakeups is None


def test_a_redis_is_found_by_its_host() -> None:
    def wakeups(**more: str) -> str | None:
        found: str | None = read_settings({}, ALL | {"REDIS_HOST": "redis"} | more, Path("/nowhere")).wakeups
        return found

    assert wakeups() == "redis://redis:6379/0"
    assert wakeups(REDIS_PASSWORD="s", REDIS_PORT="7000", REDIS_DB="2") == "redis://:s@redis:7000/2"
    assert wakeups(REDIS_URL="rediss://:s@hosted:6380/0") == "rediss://:s@hosted:6380/0"


def test_a_port_that_is_none_is_refused_by_its_variable() -> None:
    with pytest.raises(InvalidSettings, match="POSTGRES_PORT"):
        url_of(ALL | POSTGRES | {"POSTGRES_PORT": "none"})
