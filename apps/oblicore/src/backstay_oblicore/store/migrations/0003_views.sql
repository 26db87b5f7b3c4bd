-- The job system in the words that operators of this application know.

CREATE VIEW oblicore.background_jobs AS
SELECT
    job.id,
    job.kind AS job_type,
    CASE job.state
        WHEN 'running' THEN 'RUNNING'
        WHEN 'completed' THEN 'COMPLETED'
        WHEN 'resolved' THEN 'FAILED'
        WHEN 'dead' THEN 'FAILED'
        WHEN 'cancelled' THEN 'CANCELLED'
        ELSE 'PENDING'
    END AS status,
    job.priority::integer AS priority,
    job.args::jsonb AS payload,
    job.result::jsonb AS result,
    job.error ->> 'message' AS error_message,
    job.error ->> 'traceback' AS error_stack,
    job.run_at AS scheduled_for,
    job.started_at,
    job.finished_at AS completed_at,
    greatest(job.attempt - 1, 0)::integer AS retry_count,
    (coalesce(job.max_attempts, 3) - 1)::integer AS max_retries,
    coalesce(extract(EPOCH FROM job.timeout), 300)::integer AS timeout_seconds,
    2 AS retry_backoff_seconds,
    job.heartbeat_at AS last_heartbeat,
    CASE
        WHEN job.state = 'dead' THEN 'FAILED'
        WHEN job.state = 'running'
            AND coalesce(job.heartbeat_at, job.started_at) < now() - INTERVAL '5 minutes' THEN 'STALE'
        ELSE 'HEALTHY'
    END AS health_status,
    CASE WHEN job.kind = 'EXCEL_IMPORT_PROCESSING' THEN 30 ELSE 60 END AS heartbeat_interval_seconds,
    CASE WHEN job.state IN ('dead', 'resolved') THEN job.id END AS dead_letter_queue_id,
    CASE WHEN job.created_by ~ '^[0-9a-f-]{36}$' THEN job.created_by::uuid END AS created_by,
    job.created_at,
    job.updated_at,
    nullif(job.tenant, '')::uuid AS company_id,
    job.queue
FROM backstay.jobs AS job
WHERE job.tenant = '' OR job.tenant ~ '^[0-9a-f-]{36}$';

CREATE VIEW oblicore.dead_letter_queue AS
SELECT
    letter.job_id AS id,
    letter.job_id,
    nullif(letter.tenant, '')::uuid AS company_id,
    coalesce(letter.error ->> 'message', letter.reason) AS error_message,
    letter.error ->> 'traceback' AS error_stack,
    jsonb_build_object(
        'job_id', letter.job_id,
        'job_type', letter.kind,
        'input_parameters', job.args::jsonb,
        'execution_step', coalesce(fact.facts ->> 'execution_step', letter.error #>> '{context,step}', 'unknown'),
        'retry_count', greatest(letter.attempts - 1, 0),
        'timestamp', letter.died_at
    ) || coalesce(fact.facts, '{}') AS error_context,
    greatest(letter.attempts - 1, 0) AS retry_count,
    letter.died_at AS last_attempted_at,
    letter.resolved_at,
    letter.resolved_by,
    coalesce(letter.resolution, letter.note) AS resolution_notes,
    letter.died_at AS created_at,
    letter.lease_epoch AS epoch,
    letter.kind AS job_type
FROM backstay.dead_letters AS letter
LEFT JOIN backstay.jobs AS job ON job.id = letter.job_id
LEFT JOIN oblicore.job_facts AS fact ON fact.job_id = letter.job_id
WHERE letter.tenant = '' OR letter.tenant ~ '^[0-9a-f-]{36}$';

GRANT SELECT ON oblicore.background_jobs, oblicore.dead_letter_queue TO oblicore_service;
REVOKE ALL ON oblicore.background_jobs, oblicore.dead_letter_queue FROM oblicore_user;
