"""The application served on a real socket with a worker and one active passport, for the tests."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from passport_world import World
from sqlalchemy import select

from backstay.kit import path_of
from backstay_parts.servers import free_port
from backstay_passport.actions import batteries, passports, people
from backstay_passport.cli.waiting import wait_for
from backstay_passport.jobs import build
from backstay_passport.settings import Settings
from backstay_passport.store import access
from backstay_passport.store import passports as store
from backstay_passport.store.tables import battery_units, passport_versions
from backstay_passport.web.server import web_app

HTML = {"Accept": "text/html"}
# What its record says; the rest of the condition is not known.
CONDITION = {"manufactured_on": "2026-03-01"}


@dataclass(frozen=True)
class Battery:
    """A battery of a test, with its passport, a signed version, and the address of its page."""

    unit_id: str
    passport_id: str
    version_id: str
    page: str


class Site:
    """A served application with one active passport."""

    def __init__(self, world: World, url: str) -> None:
        self.world, self.url = world, url
        self.key = people.new_key(world.services, world.tenant, "tests", "maker")
        people.new_user(world.services, world.tenant, "ada", "battery staple", "maker")
        _, self.recycler = people.new_token(world.services, world.tenant, "recycler", "recycler")
        _, self.authority = people.new_token(world.services, world.tenant, "authority", "authority")
        with world.services.database.read() as connection:
            unit = connection.execute(select(battery_units)).mappings().first()
            version = connection.execute(select(passport_versions)).mappings().first()
        assert unit is not None
        assert version is not None
        self.page = f"{url}/01/{unit['gtin']}/21/{unit['serial']}"
        self.unit_id = unit["id"]
        self.product_id = unit["product_id"]
        self.rules_id = version["rule_package_version_id"]
        self.version = version

    def another(self, serial: str, *, active: bool = True) -> Battery:
        """One more battery of the model with a signed version, for a test that changes it."""
        services, tenant = self.world.services, self.world.tenant
        first = self.version["snapshot_id"], self.rules_id
        product_id = self.product_id
        unit_id = batteries.add_unit(services, tenant, product_id, {"serial": serial, **CONDITION})
        passport_id = passports.create(services, tenant, product_id, unit_id)
        job_id = passports.compile_version(services, tenant, passport_id, *first)
        version_id = self.finished(job_id)
        if active:
            passports.activate(services, tenant, version_id)
        gtin = self.page.split("/")[-3]
        page = self.url + path_of("01", gtin, "21", serial)
        return Battery(unit_id, passport_id, version_id, page)

    def finished(self, job_id: str) -> str:
        """Wait for a job that makes a version, and return the version when it has its code."""
        return self.coded(wait_for(self.world.services, job_id, 60).result)

    def coded(self, version_id: str) -> str:
        """Wait until a version has its code."""
        for _ in range(600):
            with self.world.services.database.read() as connection:
                row = store.version(connection, self.world.tenant, version_id)
            if row["qr_payload"] is not None:
                return version_id
            threading.Event().wait(0.1)
        raise TimeoutError("no code was drawn")

    def inputs(self) -> dict[str, str]:
        """The newest sealed snapshot and the published rules of the model, as a request names them."""
        return {"snapshot_id": self.version["snapshot_id"], "rule_package_version_id": self.rules_id}

    def stranger_key(self) -> str:
        """The key of another maker's program."""
        services = self.world.services
        with services.database.begin() as connection:
            other = access.add_tenant(connection, f"stranger {time.monotonic_ns()}")
        return people.new_key(services, other, "stranger", "maker")

    def get(self, address: str, accept: str = "text/html", token: str = "") -> httpx.Response:
        """What anybody, or a partner with a token, gets from an address."""
        headers = {"Accept": accept} | ({"Authorization": f"Bearer {token}"} if token else {})
        return httpx.get(address, headers=headers, timeout=30)

    def api(self, method: str, path: str, **options: Any) -> httpx.Response:
        """A request of a program with a key."""
        headers = {"Authorization": f"Bearer {self.key}", **options.pop("headers", {})}
        return httpx.request(method, f"{self.url}/api/v1{path}", headers=headers, timeout=30, **options)


@contextmanager
def served(folder: Path) -> Iterator[Site]:
    """The application on SQLite with a worker, served on a free port."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BPC_SIGNING_ED25519_PRIVATE_KEY_BASE64", "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=")
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        services = build(
            Settings(
                database_url=f"sqlite:///{folder / 'site.db'}", public_url=url, webhook_allow=("127.0.0.1",)
            )
        )
        services.migrate()
        server = uvicorn.Server(uvicorn.Config(web_app(services), port=port, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        worker = services.app.worker(concurrency=2)
        working = threading.Thread(target=lambda: asyncio.run(worker.run()))
        working.start()
        try:
            world = World(services)
            for job_id in world.full():
                wait_for(services, job_id, 60)
            _wait_for_codes(world)
            with services.database.read() as connection:
                ids = list(connection.execute(select(passport_versions.c.id)).scalars())
            for version_id in ids:
                passports.activate(services, world.tenant, version_id)
            yield Site(world, url)
        finally:
            worker.stop()
            server.should_exit = True
            working.join(30)
            thread.join(30)
            services.close()


def _wait_for_codes(world: World) -> None:
    for _ in range(600):
        with world.services.database.read() as connection:
            if connection.execute(select(passport_versions.c.qr_payload)).scalars().first() is not None:
                return
        threading.Event().wait(0.1)
    raise TimeoutError("no passport was made")
