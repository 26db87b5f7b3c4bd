"""What the tests of the passports share."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from passport_examples import example_input
from passport_site import Site, served
from passport_world import World

from backstay import Backstay
from backstay.testing import PrivatePostgres, SyncHarness
from backstay_passport.domain.compile import CompileInput
from backstay_passport.domain.signing import KEY_VARIABLE
from backstay_passport.jobs import build
from backstay_passport.settings import Settings


@pytest.fixture
def compile_input() -> CompileInput:
    """Everything that a version of an example battery depends on."""
    return example_input()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PrivatePostgres]:
    """A server of its own for the whole run."""
    with PrivatePostgres.start(fsync=False) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database on each of the two."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'passport.db'}"
    server: PrivatePostgres = request.getfixturevalue("postgres")
    name = f"t{abs(hash(request.node.nodeid)):x}"
    server.create_database(name)
    return server.url(name)


@pytest.fixture
def settings(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings with a signing key in the environment."""
    monkeypatch.setenv(KEY_VARIABLE, base64.b64encode(bytes(range(32))).decode())
    return Settings(
        database_url=database_url,
        build_id="test-build",
        signing_key_id="test-key-1",
        webhook_allow=("127.0.0.1",),
    )


@pytest.fixture
def world(settings: Settings) -> Iterator[World]:
    """An application with empty tables and one tenant."""
    services = build(settings)
    services.migrate()
    yield World(services)
    services.database.close()


@pytest.fixture
def runner(backstay_sync: SyncHarness) -> SyncHarness:
    """Runs jobs when it is told to; the tables of jobs are there."""
    backstay_sync.drain()
    return backstay_sync


@pytest.fixture
def backstay_application(world: World) -> Backstay:
    """The application that the harness runs."""
    return world.services.app


@pytest.fixture
def backstay_url(database_url: str) -> str:
    """The application's own database in another spelling: the test made it, so it may be emptied."""
    if database_url.startswith("sqlite"):
        return database_url.replace("sqlite:////", "sqlite:////./", 1)
    return f"{database_url}?application_name=harness"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The application, served; shared by the tests of a module, so that each changes only what it has made."""
    with served(tmp_path_factory.mktemp("site")) as running:
        yield running
