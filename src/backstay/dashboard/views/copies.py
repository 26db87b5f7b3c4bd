"""One job as a command, as Python and as a request, to copy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from backstay.model.job import Job


def copies_of(job: Job, api: str) -> list[tuple[str, str]]:
    """Return (title, text) of each way to enqueue such a job again; `api` is where the HTTP API is."""
    return [("Command line", _command(job)), ("Python", _python(job)), ("HTTP", _curl(job, api))]


def _command(job: Job) -> str:
    args = json.dumps(job.args, ensure_ascii=False)
    words = ["backstay", "enqueue", job.kind, "--args", args, "--queue", job.queue]
    return shlex.join(words + (["--tenant", job.tenant] if job.tenant else []))


def _python(job: Job) -> str:
    options = {"queue": job.queue, **({"tenant": job.tenant} if job.tenant else {})}
    named = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"await app.jobs.enqueue_by_name({job.kind!r}, {_literal(job.args)}, JobOptions({named}))"


def _curl(job: Job, api: str) -> str:
    body = {
        "kind": job.kind,
        "args": job.args,
        "queue": job.queue,
        **({"tenant": job.tenant} if job.tenant else {}),
    }
    return (
        f'curl -X POST "{api}/jobs" \\\n'
        '  -H "Authorization: Bearer $BACKSTAY_KEY" -H "Content-Type: application/json" \\\n'
        f"  -d {shlex.quote(json.dumps(body, ensure_ascii=False))}"
    )


def _literal(value: Mapping[str, Any]) -> str:
    return repr(dict(value))
