"""Are the ten findings of the audit held on this system? And what do the four verification queries say?"""

from dataclasses import dataclass
from typing import Any

from backstay_exora.app import settings
from backstay_exora.store.connections import connect

_FINDINGS = (
    (
        "worker_id is filled in",
        "SELECT count(*) FROM exora.job_queue WHERE worker_id IS NOT NULL"
        " AND (worker_id = '' OR worker_id LIKE '%${%' OR worker_id ~* '(undefined|None)')",
    ),
    (
        "heartbeat_at is empty after the end and never in the future",
        "SELECT count(*) FROM exora.job_queue WHERE (status <> 'processing' AND heartbeat_at IS NOT NULL)"
        " OR heartbeat_at > clock_timestamp()",
    ),
    (
        "actual_duration is completed_at minus started_at",
        "SELECT count(*) FROM exora.job_queue WHERE status IN ('completed', 'failed') AND started_at IS NOT NULL"
        " AND (actual_duration IS NULL"
        " OR abs(EXTRACT(EPOCH FROM actual_duration - (completed_at - started_at))) > 0.001)",
    ),
    (
        "patient_id equals the payload's",
        "SELECT count(*) FROM exora.job_queue WHERE job_type IN ('ai_processing', 'shell_file_processing')"
        " AND patient_id IS DISTINCT FROM (job_payload ->> 'patient_id')::uuid",
    ),
    (
        "shell_file_id equals the payload's",
        "SELECT count(*) FROM exora.job_queue WHERE job_type IN ('ai_processing', 'shell_file_processing')"
        " AND shell_file_id IS DISTINCT FROM (job_payload ->> 'shell_file_id')::uuid",
    ),
    (
        "every final failure is in the dead letters",
        "SELECT count(*) FROM exora.job_queue WHERE status = 'failed' AND dead_letter_at IS NULL",
    ),
    (
        "result only on success, error only on failure",
        "SELECT count(*) FROM exora.job_queue WHERE (status = 'failed' AND job_result IS NOT NULL)"
        " OR (status = 'completed' AND error_details IS NOT NULL) OR job_result = 'null'::jsonb",
    ),
    (
        "lock columns stay empty",
        "SELECT count(*) FROM exora.job_queue WHERE lock_acquired_at IS NOT NULL OR lock_expires_at IS NOT NULL",
    ),
    (
        "priority is between 1 and 10",
        "SELECT count(*) FROM exora.job_queue WHERE priority NOT BETWEEN 1 AND 10",
    ),
    (
        "errors are structured, and updated_at is not before completed_at",
        "SELECT count(*) FROM exora.job_queue WHERE (status = 'failed' AND NOT (error_details ? 'error_message'"
        " AND error_details ? 'failed_at')) OR updated_at < completed_at",
    ),
)
_GATE = (
    "no clinical row of an undecided document",
    "SELECT count(*) FROM exora.shell_files AS s"
    " WHERE s.status IN ('needs_review', 'rejected', 'retracted') AND EXISTS ("
    " SELECT FROM exora.patient_medications WHERE shell_file_id = s.id UNION ALL"
    " SELECT FROM exora.patient_conditions WHERE shell_file_id = s.id UNION ALL"
    " SELECT FROM exora.patient_allergies WHERE shell_file_id = s.id)",
)
_CHAIN = ("the audit log is whole: no line altered or taken out", "SELECT count(*) FROM exora.audit_breaks()")
_QUERIES = {
    "promoted columns": "SELECT id::text, job_type, patient_id::text, shell_file_id::text,"
    " job_payload ->> 'patient_id' AS payload_patient_id, job_payload ->> 'shell_file_id' AS payload_shell_file_id"
    " FROM exora.job_queue WHERE job_type = 'ai_processing' LIMIT 5",
    "retry patterns": "SELECT status, retry_count, max_retries, dead_letter_at IS NOT NULL AS is_dead_lettered,"
    " count(*) AS job_count FROM exora.job_queue GROUP BY 1, 2, 3, 4 ORDER BY 1, 2",
    "worker ids": "SELECT DISTINCT worker_id, count(*) AS job_count FROM exora.job_queue"
    " WHERE worker_id IS NOT NULL GROUP BY worker_id",
    "timestamps": "SELECT id::text, created_at::text, scheduled_at::text, started_at::text, completed_at::text,"
    " updated_at::text, heartbeat_at::text,"
    " EXTRACT(EPOCH FROM (completed_at - started_at))::float AS processing_seconds"
    " FROM exora.job_queue WHERE status IN ('completed', 'failed') ORDER BY created_at DESC LIMIT 10",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule, and how many rows break it."""

    number: int
    rule: str
    broken: int

    @property
    def is_held(self) -> bool:
        """True if no row breaks the rule."""
        return self.broken == 0


async def examine(url: str = settings.database_url) -> list[Finding]:
    """The ten findings, the gate as the eleventh, and the audit log as the twelfth."""
    async with connect(url) as connection:
        rules = [*_FINDINGS, _GATE, _CHAIN]
        return [
            Finding(number, rule, await connection.fetchval(sql))
            for number, (rule, sql) in enumerate(rules, start=1)
        ]


async def verification(url: str = settings.database_url) -> dict[str, list[dict[str, Any]]]:
    """The four reports of the audit."""
    async with connect(url) as connection:
        return {name: [dict(row) for row in await connection.fetch(sql)] for name, sql in _QUERIES.items()}
