"""The API as programs use it, and the deployment files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from aeon_world import World

from backstay_aeon.settings import Settings
from backstay_aeon.store import people
from backstay_aeon.worker import reads
from backstay_parts.servers import PrivateRedis

DEPLOY = Path(__file__).parents[1] / "deploy"
REPORT = {"job_type": "report_gen", "payload": {"report": "job_summary", "format": "csv"}}


async def test_a_job_is_accepted_run_and_shown(world: World, api: httpx.AsyncClient) -> None:
    """AEO-006, AEO-008, AEO-011: 202 with Location; team and user come from the key; attempts are shown."""
    made = await api.post("/api/jobs/create", json=REPORT)
    assert made.status_code == 202
    shown = (await api.get(made.headers["location"])).json()
    assert (shown["status"], shown["team_id"], shown["created_by"]) == (
        "pending",
        str(world.team),
        str(world.user),
    )
    assert shown["why"]
    await world.backstay.drain()
    shown = (await api.get(made.headers["location"])).json()
    assert shown["status"] == "completed"
    assert [run["status"] for run in shown["executions"]] == ["completed"]
    assert (await api.delete(made.headers["location"])).status_code == 409


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"priority": 0}, "/priority"),
        ({"priority": 11}, "/priority"),
        ({"job_type": "nothing"}, "/job_type"),
        ({"timeout_ms": 3_600_001}, "/timeout_ms"),
        ({"depends_on": [{"job_id": "0190163d-8694-739b-aea5-966c26f8ad91"}]}, "/depends_on"),
        ({"payload": {"report": "none"}}, "/payload/report"),
    ],
)
async def test_what_cannot_be_is_refused_with_its_field(
    world: World, api: httpx.AsyncClient, change: dict[str, Any], pointer: str
) -> None:
    """AEO-006: 400 that names the field, and nothing is stored."""
    refused = await api.post("/api/jobs/create", json={**REPORT, **change})
    assert refused.status_code == 400
    assert pointer in refused.text
    assert await world.database.value("SELECT count(*) FROM public.jobs") == 0


TIE = {"job_id": "0190163d-8694-739b-aea5-966c26f8ad91"}


@pytest.mark.parametrize(
    "change",
    [
        {"scheduled_for": "tomorrow"},
        {"scheduled_for": "2026-03-29T08:00:00"},
        {"payload": {"report": "job_summary", "period": {"days": 1e10}}},
        {"payload": {"report": "job_summary", "period": {"days": -5}}},
        {"payload": {"report": "job_summary", "period": {"days": 100_000}}},
        {"payload": {"report": "job_summary", "period": "month"}},
        {"payload": {"report": ["job_summary"]}},
        {"job_type": "file_processing", "payload": {"file_id": TIE["job_id"], "operations": [["text"]]}},
        {"job_type": "file_processing", "payload": {"file_id": TIE["job_id"], "operations": 7}},
        {"job_type": "data_import", "payload": {"source": "x", "dataset": "d", "mapping": 7}},
        {"job_type": "data_import", "payload": {"source": "x", "dataset": "d", "batch_size": True}},
        {"parent_job_id": "nobody"},
        {"parent_job_id": TIE["job_id"]},
        {"depends_on": [{**TIE, "dependency_type": "conditional"}]},
        {"depends_on": [{"job_id": "nobody"}]},
        {"job_category": "a\0b"},
        {"job_category": "x" * 51},
        {"tags": ["\0"]},
        {"metadata": {"a": "\0"}},
        {"backoff_multiplier": -1},
        {"backoff_multiplier": 1e308},
        {"max_retries": 21},
        {"retry_delay_ms": -1},
        {"timeout_ms": 0},
        {"job_type": "x" * 101},
    ],
    ids=str,
)
async def test_no_request_is_answered_with_a_fault_of_ours(
    world: World, api: httpx.AsyncClient, change: dict[str, Any]
) -> None:
    """AEO-006: whatever is wrong with a request is told as the caller's, and nothing is stored."""
    refused = await api.post("/api/jobs/create", json={**REPORT, **change})
    assert refused.status_code in (400, 404, 422), refused.text
    assert await world.database.value("SELECT count(*) FROM public.jobs") == 0


async def test_another_teams_job_is_not_there(world: World, api: httpx.AsyncClient) -> None:
    """AEO-008: what belongs to others is as missing as what does not exist."""
    made = (await api.post("/api/jobs/create", json=REPORT)).json()
    key = await people.add_key(world.database, world.other, None, "other")
    headers = {"Authorization": f"Bearer {key}"}
    assert (await api.get(f"/api/jobs/{made['job_id']}", headers=headers)).status_code == 404


async def test_a_report_takes_what_an_import_gave(world: World, api: httpx.AsyncClient) -> None:
    """AEO-023, AEO-010: a data dependency hands the result on; a paused job waits until it is resumed."""
    first = (await api.post("/api/jobs/create", json=REPORT)).json()["job_id"]
    tie = {"job_id": first, "dependency_type": "data", "into": "input"}
    second = (await api.post("/api/jobs/create", json={**REPORT, "depends_on": [tie]})).json()["job_id"]
    assert (await api.post(f"/api/jobs/{first}/pause")).json()["status"] == "paused"
    await world.backstay.drain()
    assert (await api.get(f"/api/jobs/{first}")).json()["status"] == "paused"
    await api.post(f"/api/jobs/{first}/resume")
    await world.backstay.drain()
    await world.backstay.travel("10s")
    await world.backstay.drain()
    shown = (await api.get(f"/api/jobs/{second}")).json()
    assert shown["status"] == "completed"
    assert shown["result"]["input"]["report_id"] == first


async def test_json_prometheus_and_sql_agree(world: World, api: httpx.AsyncClient) -> None:
    """AEO-031: one figure, three ways."""
    for _ in range(3):
        await api.post("/api/jobs/create", json=REPORT)
    figures = (await api.get("/api/metrics")).json()
    text = (await api.get("/api/metrics/prometheus")).text
    pending = await world.database.value("SELECT pending_jobs FROM get_job_statistics()")
    assert figures["queueDepths"]["pending"] == pending == 3
    assert 'aeon_queue_depth{queue="pending"} 3' in text


def test_compose_files_hold_the_listed_values() -> None:
    """AEO-036, AEO-043, AEO-001: the network is external, no second PostgreSQL, only services that are defined."""
    redis = yaml.safe_load((DEPLOY / "docker-compose.redis.yml").read_text())
    workers = yaml.safe_load((DEPLOY / "docker-compose.workers.yml").read_text())
    assert redis["services"]["redis"]["image"] == "redis:7-alpine"
    assert redis["services"]["redis-commander"]["ports"] == ["8081:8081"]
    assert redis["networks"]["openspg-network"]["external"]
    assert workers["services"]["worker-data-import"]["environment"]["MAX_CONCURRENT_JOBS"] == "3"
    assert set(workers["services"]) == {
        "worker-general",
        "worker-data-import",
        "worker-reports",
        "worker-priority",
        "migrate",
        "serve",
    }
    limits = workers["services"]["worker-data-import"]["deploy"]["resources"]["limits"]
    assert limits == {"memory": "1G", "cpus": "2.0"}
    health = redis["services"]["redis"]["healthcheck"]
    assert (health["interval"], health["timeout"], health["retries"]) == ("10s", "3s", 5)
    command = redis["services"]["redis"]["command"]
    assert command.startswith("redis-server /usr/local/etc/redis/redis.conf --requirepass")
    assert "REDIS_HOSTS=local:aeon-redis:6379:0:${REDIS_PASSWORD:-aeon_redis_dev}" in str(
        redis["services"]["redis-commander"]["environment"]
    )
    defined = {*redis["services"], *workers["services"], "postgres-dev"}
    for service in {**redis["services"], **workers["services"]}.values():
        assert set(service.get("depends_on", {})) <= defined


def test_every_container_can_read_and_write_what_the_others_do() -> None:
    """AEO-036: one secret, one storage and one volume for all, owned by the user that the image runs as."""
    found = yaml.safe_load((DEPLOY / "docker-compose.workers.yml").read_text())
    image = (DEPLOY / "Dockerfile").read_text()
    for name, service in found["services"].items():
        environment = service["environment"]
        assert environment["AEON_STORAGE"] == "${AEON_STORAGE:-folder:/data}", name
        assert environment["AEON_SECRET"].startswith("${AEON_SECRET:?"), name
        assert service["volumes"] == ["aeon-files:/data"], name
        if name != "migrate":
            assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert "install -d -o aeon -g aeon /data" in image.partition("USER aeon")[0]


@pytest.mark.parametrize("name", ["general", "data-import", "reports", "priority"])
def test_the_variables_of_each_container_are_understood(name: str) -> None:
    """AEO-036, AEO-012: settings are read from the compose file as a worker would, and say which jobs it takes."""
    found = yaml.safe_load((DEPLOY / "docker-compose.workers.yml").read_text())
    given = found["services"][f"worker-{name}"]["environment"]
    filled = {key: re.sub(r"\$\{\w+:[-?]([^}]*)\}", r"\1", value) for key, value in given.items()}
    settings = Settings.from_environment(filled)
    kinds, queues = reads(settings.worker)
    assert (settings.worker.type, settings.worker.id) == (name, f"worker-{name}-1")
    assert ("report_gen" in kinds) is (name != "data-import")
    assert ("imports" in queues) is (name in ("general", "data-import"))
    assert settings.worker.memory_limit_mb < int(given["CONTAINER_MEMORY_MB"])


def test_redis_conf_is_really_loaded() -> None:
    """AEO-036: the running server keeps every key and refuses FLUSHALL."""
    import redis

    with PrivateRedis(config_file=DEPLOY / "config" / "redis.conf") as server:
        client = redis.Redis.from_url(server.redis_url)
        assert client.info("memory")["maxmemory_policy"] == "noeviction"
        with pytest.raises(redis.exceptions.ResponseError):
            client.execute_command("FLUSHALL")
        client.close()
