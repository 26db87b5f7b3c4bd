"""Requests made from the API's own description, at a real server: no server error, no answer that it does not describe.

`make test` sends more than 2,000 to one of the databases, another one as the source changes; `make prove` as many to
both, `make fuzz` 100,000 and new ones every time. That each operation can succeed is shown by test_http_matrix.py.
"""

from __future__ import annotations

import itertools
import os
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import requests
import schemathesis
from http_operations import OPERATIONS
from http_server import PATIENCE, Served, served
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from backstay.testing import PrivatePostgres
from slices import drawn

PARTS = 4
GATE_REQUESTS = 2000
GATE_EXAMPLES = 12
PROOF_REQUESTS = int(os.environ.get("BACKSTAY_FUZZ_REQUESTS", "2000"))
SEED = int(os.environ.get("BACKSTAY_FUZZ_SEED", "7"))
CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
ADD = {"kind": "add", "args": {"a": 1, "b": 2}}
HALF = 0.5
WAITING = ("/wait", "/result")


DATABASES = ("sqlite", "postgres")
[OF_THE_GATE] = drawn(DATABASES, 1)


@pytest.fixture(
    scope="module",
    params=[
        OF_THE_GATE,
        *(pytest.param(one, marks=pytest.mark.prove) for one in DATABASES if one != OF_THE_GATE),
    ],
)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("fuzz")
    url = f"sqlite:///{folder / 'fuzz.db'}"
    if request.param == "postgres":
        postgres: PrivatePostgres = request.getfixturevalue("postgres_server")
        name = f"fuzz_{folder.name.replace('-', '_')}"
        postgres.create_database(name)
        url = postgres.url(name)
    with served(url, folder / "server.log") as found:
        yield found
    assert "Traceback" not in (folder / "server.log").read_text()


@pytest.fixture(scope="module")
def known(server: Served) -> dict[str, list[str]]:
    """Things that are there, by the name of the part of a path that names them."""
    with httpx.Client(base_url=server.address, headers=server.headers, timeout=PATIENCE) as caller:
        jobs = caller.post("/jobs/bulk", json={"jobs": [ADD] * 30}).json()["items"]
        flow = caller.post("/flows", json={"name": "sums", "jobs": [{"name": "one", **ADD}]}).json()
        schedule = {"name": "nightly", "kind": "add", "cron": "0 3 * * *", "args": ADD["args"]}
        caller.post("/schedules", json=schedule).raise_for_status()
        key = caller.post("/keys", json={"name": "shop"}).json()["key"]
    return {
        "job_id": [job["id"] for job in jobs],
        "flow_id": [flow["id"]],
        "name": ["nightly"],
        "prefix": [key["prefix"]],
        "field": ["cron", "timeout", "limit"],
    }


@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_requests_are_answered_as_described(
    server: Served, known: dict[str, list[str]], part: int
) -> None:
    answers: Counter[str] = Counter()
    for turn in itertools.count():
        if answers.total() >= GATE_REQUESTS / PARTS:
            break
        answers += answered(server, known, examples=GATE_EXAMPLES, part=part, first_seed=SEED + turn)

    assert answers["2xx"] > 0


@pytest.mark.prove
@pytest.mark.timeout(7200)
def test_no_request_leads_to_an_answer_that_is_not_described(
    server: Served, known: dict[str, list[str]]
) -> None:
    answers = answered(server, known, examples=PROOF_REQUESTS // len(OPERATIONS) * 2)

    assert sum(answers.values()) >= PROOF_REQUESTS, answers
    assert answers["2xx"] > 0


def answered(
    server: Served,
    known: dict[str, list[str]],
    *,
    examples: int,
    part: int | None = None,
    first_seed: int = SEED,
) -> Counter[str]:
    """Send requests to every operation or a part of them, hold each answer against the description, and count them."""
    document = httpx.get(f"{server.address}/openapi.json", timeout=PATIENCE).json()
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=server.address, headers=server.headers)
    chance, answers = random.Random(first_seed), Counter[str]()
    with requests.Session() as session:
        for number, found in enumerate(schema.get_all_operations()):
            operation = found.ok()
            if part is not None and number % PARTS != part:
                continue

            @seed(first_seed)
            @settings(
                max_examples=examples,
                phases=[Phase.generate],
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy())
            def ask(case: Any) -> None:
                if chance.random() < HALF:
                    for part in set(case.path_parameters or {}) & set(known):
                        case.path_parameters[part] = chance.choice(known[part])
                if case.path.endswith(WAITING):
                    # Nothing ends here: a caller would only wait.
                    case.query["timeout"] = 0
                if case.path.startswith("/live"):
                    # A stream goes on until its reader leaves.
                    case.query["seconds"] = 0
                answer = case.call(
                    base_url=server.address, session=session, headers=server.headers, timeout=PATIENCE
                )
                case.validate_response(answer, checks=CHECKS)
                answers[f"{answer.status_code // 100}xx"] += 1

            ask()
    return answers
