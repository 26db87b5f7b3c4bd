"""An inference provider with RunPod's serverless interface: keeps jobs on disk, computes, and forgets after 30 minutes.

Faults and the clock are set over `/local/…`, which the real provider does not have.
"""

from __future__ import annotations

import json
import os
import sqlite3
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from uuid import uuid4

import httpx
from fastapi import FastAPI, Header, HTTPException

from backstay_parts.serving import serve
from backstay_watchpoint.local.provider_worker import ProviderWorker, WorkerSettings

Authorization = Annotated[str | None, Header()]

KEPT_AFTER_END = timedelta(minutes=30)

_WEBHOOK_PAUSES = (0, 1, 2, 4, 8)  # seconds before each try
_TABLES = """
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY, number INTEGER, input TEXT NOT NULL, webhook TEXT, status TEXT NOT NULL, fault TEXT,
    created_at TEXT NOT NULL, ended_at TEXT, output TEXT, error TEXT, is_forgotten INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE IF NOT EXISTS requests (number INTEGER PRIMARY KEY, method TEXT, path TEXT);
CREATE TABLE IF NOT EXISTS faults (
    number INTEGER PRIMARY KEY, mode TEXT, task_type TEXT, model TEXT, run_timestamp TEXT
);
"""


@dataclass(slots=True)
class Jobs:
    """The provider's jobs, in a file, so that they outlive the process."""

    path: Path
    clock_offset: timedelta = timedelta()

    def __post_init__(self) -> None:
        with closing(self._open()) as database:
            database.executescript(_TABLES)

    def now(self) -> datetime:
        """Return the provider's own time."""
        return datetime.now(UTC) + self.clock_offset

    def add(self, given: Any, webhook: str | None) -> str:
        """Take a request in."""
        job_id = f"{uuid4()}-e1"
        with closing(self._open()) as database, database:
            database.execute(
                "INSERT INTO jobs (id, number, input, webhook, status, fault, created_at) "
                "VALUES (?, (SELECT coalesce(max(number), 0) + 1 FROM jobs), ?, ?, 'IN_QUEUE', ?, ?)",
                (
                    job_id,
                    json.dumps(given),
                    webhook,
                    self._take_fault(database, given),
                    self.now().isoformat(),
                ),
            )
        return job_id

    def get(self, job_id: str) -> dict[str, Any] | None:
        """Return a job that is not forgotten."""
        with closing(self._open()) as database, database:
            oldest = (self.now() - KEPT_AFTER_END).isoformat()
            database.execute("UPDATE jobs SET is_forgotten = 1 WHERE ended_at < ?", (oldest,))
            row = database.execute(
                "SELECT * FROM jobs WHERE id = ? AND NOT is_forgotten", (job_id,)
            ).fetchone()
        return None if row is None else dict(row)

    def all(self) -> list[dict[str, Any]]:
        """Return every job that there ever was, also forgotten ones."""
        with closing(self._open()) as database:
            return [dict(row) for row in database.execute("SELECT * FROM jobs ORDER BY number")]

    def next_waiting(self) -> dict[str, Any] | None:
        """Start the oldest waiting job; one that hangs starts and is never worked on."""
        with closing(self._open()) as database, database:
            database.execute(
                "UPDATE jobs SET status = 'IN_PROGRESS' WHERE status = 'IN_QUEUE' AND fault LIKE 'hang%'"
            )
            row = database.execute(
                "SELECT * FROM jobs WHERE status = 'IN_QUEUE' AND coalesce(fault, '') <> 'stay queued' "
                "ORDER BY number LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            database.execute("UPDATE jobs SET status = 'IN_PROGRESS' WHERE id = ?", (row["id"],))
        return dict(row)

    def end(self, job_id: str, status: str, *, output: Any = None, error: str | None = None) -> bool:
        """End a job; False if it had ended, for instance because it was cancelled."""
        with closing(self._open()) as database, database:
            ended = database.execute(
                "UPDATE jobs SET status = ?, output = ?, error = ?, ended_at = ? "
                "WHERE id = ? AND status IN ('IN_QUEUE', 'IN_PROGRESS')",
                (status, json.dumps(output), error, self.now().isoformat(), job_id),
            )
            return ended.rowcount == 1

    def forget(self, job_id: str) -> None:
        """Lose a job."""
        with closing(self._open()) as database, database:
            database.execute("UPDATE jobs SET is_forgotten = 1 WHERE id = ?", (job_id,))

    def again(self, job_id: str) -> bool:
        """Queue a failed job again; False if it has not failed."""
        with closing(self._open()) as database, database:
            queued = database.execute(
                "UPDATE jobs SET status = 'IN_QUEUE', ended_at = NULL, error = NULL "
                "WHERE id = ? AND status IN ('FAILED', 'TIMED_OUT')",
                (job_id,),
            )
            return queued.rowcount == 1

    def plan_fault(self, fault: dict[str, Any], count: int) -> None:
        """Let the next requests that fit go wrong."""
        with closing(self._open()) as database, database:
            for _ in range(count):
                database.execute(
                    "INSERT INTO faults (mode, task_type, model, run_timestamp) VALUES (?, ?, ?, ?)",
                    (fault["mode"], fault.get("task_type"), fault.get("model"), fault.get("run_timestamp")),
                )

    def refuses(self, given: Any) -> bool:
        """Tell whether the next fitting fault is a refusal, which it uses up."""
        with closing(self._open()) as database, database:
            return self._take_fault(database, given, only="refuse") is not None

    def clear(self) -> None:
        """Forget everything, also what was planned."""
        self.clock_offset = timedelta()
        with closing(self._open()) as database, database:
            for table in ("jobs", "requests", "faults"):
                database.execute(f"DELETE FROM {table}")

    def note(self, method: str, path: str) -> None:
        """Write a line of the access log."""
        with closing(self._open()) as database, database:
            database.execute("INSERT INTO requests (method, path) VALUES (?, ?)", (method, path))

    def requests(self) -> list[str]:
        """Return the access log."""
        with closing(self._open()) as database:
            return [
                f"{method} {path}"
                for method, path in database.execute("SELECT method, path FROM requests ORDER BY number")
            ]

    def _take_fault(self, database: sqlite3.Connection, given: Any, only: str | None = None) -> str | None:
        row = database.execute(
            "SELECT number, mode FROM faults WHERE coalesce(task_type, :task) = :task "
            "AND coalesce(model, :model) = :model AND coalesce(run_timestamp, :at) = :at "
            "AND (mode = 'refuse') = :refuses ORDER BY number LIMIT 1",
            {
                "task": given.get("task_type"),
                "model": given.get("model"),
                "at": given.get("run_timestamp"),
                "refuses": only == "refuse",
            },
        ).fetchone()
        if row is None:
            return None
        database.execute("DELETE FROM faults WHERE number = ?", (row["number"],))
        return str(row["mode"])

    def _open(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=30)
        database.row_factory = sqlite3.Row
        return database


def make(folder: Path) -> FastAPI:
    """Build the server; its worker runs in a thread."""
    jobs = Jobs(folder / "jobs.sqlite")
    wake = threading.Event()
    worker = ProviderWorker(WorkerSettings.from_environment())
    threading.Thread(target=_work, args=(jobs, worker, wake), daemon=True).start()
    app = _routes(jobs, wake, os.environ.get("RUNPOD_API_KEY", "local-key"))
    _local_routes(app, jobs, worker)
    return app


def _work(jobs: Jobs, worker: ProviderWorker, wake: threading.Event) -> None:
    while True:
        job = jobs.next_waiting()
        if job is None:
            wake.wait(0.5)
            wake.clear()
            continue
        if job["fault"] == "fail":
            jobs.end(job["id"], "FAILED", error="out of memory")
        else:
            _run(jobs, worker, job)
        if job["fault"] == "lose":
            jobs.forget(job["id"])
        elif job["fault"] != "no callback":
            threading.Thread(target=_call_back, args=(jobs, job["id"]), daemon=True).start()


def _run(jobs: Jobs, worker: ProviderWorker, job: dict[str, Any]) -> None:
    try:
        output = worker.run(json.loads(job["input"]), jobs.now())
    except Exception as error:  # whatever a request does, the provider lives on and says so
        jobs.end(job["id"], "FAILED", error=f"{type(error).__name__}: {error}")
    else:
        jobs.end(job["id"], "COMPLETED", output=output)


def _call_back(jobs: Jobs, job_id: str) -> None:
    job = jobs.get(job_id)
    if job is None or not job["webhook"]:
        return
    for pause in _WEBHOOK_PAUSES:
        time.sleep(pause)
        try:
            if httpx.post(job["webhook"], json=_shown(job), timeout=30, verify=_tls()).is_success:
                return
        except httpx.HTTPError:
            continue


@cache
def _tls() -> ssl.SSLContext:
    # Reading the certificates takes longer than the call.
    return httpx.create_ssl_context()


def _routes(jobs: Jobs, wake: threading.Event, api_key: str) -> FastAPI:
    app = FastAPI(title="Local inference provider")

    def check(authorization: str | None) -> None:
        if authorization != f"Bearer {api_key}":
            raise HTTPException(401, "unauthorized")

    @app.post("/v2/{endpoint}/run")
    def run(endpoint: str, body: dict[str, Any], authorization: Authorization = None) -> dict[str, Any]:
        check(authorization)
        jobs.note("POST", f"/v2/{endpoint}/run")
        if not isinstance(body.get("input"), dict):
            raise HTTPException(400, "input must be an object")
        if jobs.refuses(body["input"]):
            raise HTTPException(500, "no capacity")
        job_id = jobs.add(body["input"], body.get("webhook"))
        wake.set()
        return {"id": job_id, "status": "IN_QUEUE"}

    _job_routes(app, jobs, wake, check)
    return app


def _job_routes(app: FastAPI, jobs: Jobs, wake: threading.Event, check: Callable[[str | None], None]) -> None:
    def found(job_id: str) -> dict[str, Any]:
        job = jobs.get(job_id)
        if job is None:
            raise HTTPException(404, "job not found")
        return job

    @app.get("/v2/{endpoint}/status/{job_id}")
    def status(endpoint: str, job_id: str, authorization: Authorization = None) -> dict[str, Any]:
        check(authorization)
        jobs.note("GET", f"/v2/{endpoint}/status/{job_id}")
        return _shown(found(job_id))

    @app.post("/v2/{endpoint}/cancel/{job_id}")
    def cancel(endpoint: str, job_id: str, authorization: Authorization = None) -> dict[str, Any]:
        check(authorization)
        jobs.note("POST", f"/v2/{endpoint}/cancel/{job_id}")
        if found(job_id)["fault"] == "hang, uncancellable":
            raise HTTPException(500, "cannot be cancelled now")
        jobs.end(job_id, "CANCELLED")
        return _shown(found(job_id))

    @app.post("/v2/{endpoint}/retry/{job_id}")
    def retry(endpoint: str, job_id: str, authorization: Authorization = None) -> dict[str, Any]:
        check(authorization)
        jobs.note("POST", f"/v2/{endpoint}/retry/{job_id}")
        found(job_id)
        if not jobs.again(job_id):
            raise HTTPException(400, "only failed jobs can be retried")
        wake.set()
        return _shown(found(job_id))


def _local_routes(app: FastAPI, jobs: Jobs, worker: ProviderWorker) -> None:
    @app.get("/local/jobs")
    def all_jobs() -> list[dict[str, Any]]:
        return [{**job, "input": json.loads(job["input"])} for job in jobs.all()]

    @app.get("/local/requests")
    def requests() -> list[str]:
        return jobs.requests()

    @app.post("/local/faults")
    def faults(fault: dict[str, Any]) -> None:
        jobs.plan_fault(fault, int(fault.get("count", 1)))

    @app.post("/local/reset")
    def reset(body: dict[str, str]) -> None:
        jobs.clear()
        worker.use_database(body["database_url"])

    @app.post("/local/clock")
    def clock(body: dict[str, float]) -> str:
        jobs.clock_offset += timedelta(seconds=body["advance_seconds"])
        return jobs.now().isoformat()


def _shown(job: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": job["id"], "status": job["status"]}
    if job["status"] == "COMPLETED":
        shown["output"] = json.loads(job["output"])
    if job["error"]:
        shown["error"] = job["error"]
    return shown


if __name__ == "__main__":
    serve(make, description="A local inference provider with RunPod's interface.")
