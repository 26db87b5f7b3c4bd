"""The API of a real server process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from http_server import PATIENCE, Served, served

ADD = {"kind": "add", "args": {"a": 1, "b": 2}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(f"sqlite:///{tmp_path / 'served.db'}", tmp_path / "server.log") as found:
        yield found


def test_the_token_of_the_link_lets_its_caller_in_and_no_other(server: Served) -> None:
    with httpx.Client(base_url=server.address, timeout=PATIENCE) as caller:
        assert caller.get("/jobs").status_code == 401
        assert caller.get("/jobs", headers={"Authorization": "Bearer guessed"}).status_code == 401
        stored = caller.post("/jobs", json=ADD, headers=server.headers)
        found = caller.get(stored.headers["location"], headers=server.headers)

    assert stored.status_code == 201
    assert found.json()["created_by"] == "fuzz"


def test_what_is_open_is_the_description_and_liveness_alone(server: Served) -> None:
    with httpx.Client(base_url=server.address, timeout=PATIENCE) as caller:
        document = caller.get("/openapi.json").json()
        opened = [
            path
            for path, methods in document["paths"].items()
            for method in methods
            if caller.request(method, path.replace("{job_id}", "x")).status_code not in (401, 404, 422)
        ]

    assert document["openapi"].startswith("3.1")
    assert opened == ["/health/live"]


def test_a_host_that_is_not_ours_is_refused(server: Served) -> None:
    answer = httpx.get(f"{server.address}/health/live", headers={"Host": "evil.example"}, timeout=PATIENCE)

    assert (answer.status_code, answer.json()["code"]) == (421, "unknown_host")
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_every_operation_is_described_with_its_errors_and_an_example_of_its_body(server: Served) -> None:
    document = httpx.get(f"{server.address}/openapi.json", timeout=PATIENCE).json()
    schemas = document["components"]["schemas"]
    bare = []
    for path, methods in document["paths"].items():
        for method, told in methods.items():
            if not told.get("summary") or not told.get("description"):
                bare.append(f"{method} {path} is not described")
            errors = [status for status in told["responses"] if status >= "400"]
            if not errors:
                bare.append(f"{method} {path} names no error")
            body = (
                told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            )
            if body and "examples" not in schemas[body["$ref"].rpartition("/")[2]]:
                bare.append(f"{method} {path} has no example of its body")

    assert bare == []
