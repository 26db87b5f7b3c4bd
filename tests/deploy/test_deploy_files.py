"""The files in deploy/ are what their tools read, and say what was promised of them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx
import jsonschema
import kubernetes_validate
import pytest
import yaml
from typer.testing import CliRunner

from backstay import Backstay
from backstay.cli.commands import backstay
from backstay.dashboard.standalone import Account, Standalone
from backstay.testing import PrivatePostgres

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPOSE = sorted((DEPLOY / "compose").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
# Resources of KEDA are its own; kustomization.yaml never reaches the cluster.
FOREIGN = ("keda.sh/", "kustomize.config.k8s.io/")
MIB = 1024 * 1024


def compose(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose" / name).read_text())
    return found


def resources(path: Path) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(path.read_text()) if one]


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in MANIFESTS:
        for one in resources(path):
            if one["kind"] in ("Deployment", "Job"):
                yield one["metadata"]["name"], one["spec"]["template"]["spec"]


def commands() -> dict[str, list[str]]:
    """Every command of Backstay that a file of ours gives, by where it stands."""
    found = {
        f"compose {name}": service["command"]
        for name, service in compose("compose.yaml")["services"].items()
        if "command" in service
    }
    found |= {f"kubernetes {name}": pod["containers"][0]["args"] for name, pod in pods()}
    for unit in UNITS:
        line = re.search(r"^ExecStart=\S+/backstay (.*)$", unit.read_text(), re.MULTILINE)
        assert line is not None, unit.name
        found[unit.name] = line[1].split()
    return found


@pytest.mark.parametrize("path", COMPOSE, ids=lambda path: path.name)
def test_a_compose_file_keeps_to_the_published_schema(path: Path) -> None:
    schema = json.loads((Path(__file__).parent / "compose_spec.json").read_text())

    jsonschema.Draft201909Validator(schema).validate(yaml.safe_load(path.read_text()))


def test_workers_have_the_memory_and_processors_that_were_asked_for() -> None:
    services = compose("compose.yaml")["services"]

    shares = {
        name: services[name]["deploy"]["resources"] for name in ("worker-general", "worker-data-import")
    }

    assert shares == {
        "worker-general": {
            "limits": {"memory": "512M", "cpus": "1.0"},
            "reservations": {"memory": "256M", "cpus": "0.5"},
        },
        "worker-data-import": {
            "limits": {"memory": "1G", "cpus": "2.0"},
            "reservations": {"memory": "512M", "cpus": "1.0"},
        },
    }


def test_a_worker_is_replaced_before_its_container_is_full() -> None:
    for name, service in compose("compose.yaml")["services"].items():
        if name.startswith("worker"):
            command = " ".join(service["command"]).replace("=", " ")
            most = re.search(r"--max-memory (\d+)MB", command)
            assert most is not None
            limit = service["deploy"]["resources"]["limits"]["memory"]
            assert int(most[1]) * MIB < int(limit[:-1]) * {"M": MIB, "G": 1024 * MIB}[limit[-1]]


def test_a_fixed_name_keeps_nobody_from_starting_more_workers() -> None:
    named = [
        name
        for path in COMPOSE
        for name, one in compose(path.name)["services"].items()
        if "container_name" in one
    ]

    assert named == []


def test_everybody_waits_for_services_that_the_files_have() -> None:
    services = [
        *compose("compose.yaml")["services"].items(),
        *compose("compose.redis.yaml")["services"].items(),
    ]
    awaited = {one for _, service in services for one in service.get("depends_on", {})}

    assert awaited == {"postgres", "migrate", "redis"}
    assert awaited <= {name for name, _ in services}


def test_redis_is_asked_with_its_password_and_keeps_every_key() -> None:
    redis = compose("compose.redis.yaml")["services"]["redis"]

    assert "REDISCLI_AUTH" in redis["healthcheck"]["test"][1]
    assert "incr" not in redis["healthcheck"]["test"][1]
    assert "--maxmemory-policy noeviction" in redis["command"][-1]
    assert "--appendonly yes" in redis["command"][-1]


def test_no_password_is_written_down() -> None:
    for name in ("compose.yaml", "compose.redis.yaml"):
        text = (DEPLOY / "compose" / name).read_text()
        assert re.findall(r"PASSWORD: (?!\$\{)\S+", text) == []


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_a_manifest_keeps_to_the_schema_of_kubernetes(path: Path) -> None:
    for one in resources(path):
        if not one["apiVersion"].startswith(FOREIGN):
            kubernetes_validate.validate(one, "1.34", strict=True)


def test_pods_run_without_rights_and_end_in_time() -> None:
    for name, pod in pods():
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"], name
        assert container["securityContext"]["readOnlyRootFilesystem"], name
        assert container["securityContext"]["allowPrivilegeEscalation"] is False, name
    workers = dict(pods())["backstay-workers"]
    assert workers["terminationGracePeriodSeconds"] > 30


def test_the_kustomization_names_every_manifest() -> None:
    (listed,) = resources(DEPLOY / "kubernetes" / "kustomization.yaml")

    others = {path.name for path in MANIFESTS} - {"kustomization.yaml"}
    assert set(listed["resources"]) == others


def test_the_autoscaler_finds_its_deployment_and_its_secret() -> None:
    scaled, authentication = resources(DEPLOY / "kubernetes" / "scaledobject.yaml")

    assert scaled["spec"]["scaleTargetRef"]["name"] in dict(pods())
    assert {one["authenticationRef"]["name"] for one in scaled["spec"]["triggers"]} == {
        authentication["metadata"]["name"]
    }
    # KEDA refuses values that are no texts.
    assert all(
        isinstance(value, str) for one in scaled["spec"]["triggers"] for value in one["metadata"].values()
    )
    assert scaled["spec"]["minReplicaCount"] <= scaled["spec"]["fallback"]["replicas"]


async def test_the_autoscaler_is_answered_by_the_service_of_the_dashboard(
    postgres_server: PrivatePostgres,
) -> None:
    postgres_server.create_database("scaled")
    app = Backstay(postgres_server.url("scaled"))

    @app.job
    async def work(n: int) -> None: ...

    await app.migrate()
    key = await app.api_keys.create("keda", tenant="*", scopes=["metrics.read"])
    scaled, authentication = resources(DEPLOY / "kubernetes" / "scaledobject.yaml")
    (trigger,) = scaled["spec"]["triggers"]
    asked = urlsplit(trigger["metadata"]["url"])
    service = next(
        one for one in resources(DEPLOY / "kubernetes" / "dashboard.yaml") if one["kind"] == "Service"
    )
    site = Standalone(app, host="0.0.0.0", port=0, account=Account("admin", "a long password"))
    site.close()

    async with app.working():
        answers = []
        for count in (0, 300):
            await app.queues.pause("default", reason="so that they wait")
            await work.enqueue_many([{"n": n} for n in range(count)])
            transport = httpx.ASGITransport(site.web)
            async with httpx.AsyncClient(transport=transport, base_url="http://backstay-dashboard") as client:
                answer = await client.get(
                    f"{asked.path}?{asked.query}", headers={"Authorization": f"Bearer {key.text}"}
                )
            answers.append(answer.json()[trigger["metadata"]["valueLocation"]])
    await app.close()

    assert asked.hostname == service["metadata"]["name"]
    assert answers == [1, 2]
    assert trigger["metadata"]["authMode"] == "bearer"
    assert [one["parameter"] for one in authentication["spec"]["secretTargetRef"]] == ["token"]
    bounds = dict(parse_qsl(asked.query))
    spec = scaled["spec"]
    assert (int(bounds["least"]), int(bounds["most"])) == (spec["minReplicaCount"], spec["maxReplicaCount"])


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_the_unit(path: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    text = path.read_text().replace("/srv/backstay/.venv/bin/backstay", shutil.which("true") or "/bin/true")
    (tmp_path / path.name).write_text(text)
    assert {"[Unit]", "[Service]", "[Install]"} <= set(text.splitlines())
    if program is None:
        pytest.skip(
            "systemd-analyze is not here: install your system's package systemd to have units verified"
        )
    done = subprocess.run(
        [program, "verify", "--man=no", tmp_path / path.name], capture_output=True, text=True
    )

    complaints = [line for line in done.stderr.splitlines() if path.name in line]
    assert complaints == []


@pytest.mark.parametrize("place", commands())
def test_every_command_is_one_that_backstay_has(place: str) -> None:
    words = [word.split("=")[0] for word in commands()[place]]
    subcommand = words[:2] if words[0] == "db" else words[:1]

    told = CliRunner().invoke(
        backstay, [*subcommand, "--help"], env={"COLUMNS": "200"}, catch_exceptions=False
    )

    assert told.exit_code == 0, told.output
    assert [word for word in words if word.startswith("--") and word not in told.output] == []


def test_the_image_copies_what_the_project_has() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE) for word in line.split()
    ]
    kept = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text().splitlines()

    assert [one for one in copied if not (ROOT / one).exists()] == []
    assert {f"!{one}" for one in copied} == {line for line in kept if line.startswith("!")}
    assert re.search(r"^USER 10001:10001$", text, re.MULTILINE)
    assert "python:3.11-slim" in text
    assert sys.version_info >= (3, 11)
