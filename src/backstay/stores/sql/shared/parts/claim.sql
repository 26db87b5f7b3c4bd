-- What a worker is told of a job that it has claimed: first what it needs of each, then what hardly any job has. There,
-- NULL is what a plain job on its way has: most answers are short, and what is not there need not be looked at.
    id, kind, queue, args, attempt, {microseconds turn} AS turn_microseconds,
    {milliseconds started_at - run_at} AS waited_ms,
    NULLIF(lease_epoch, 2 * attempt - 1) AS epoch, NULLIF(run, attempt) AS run, NULLIF(crashes, 0) AS crashes,
    NULLIF(is_suspect, FALSE) AS is_suspect, NULLIF(tenant, '') AS tenant, own_max_attempts, own_timeout, own_lease,
    policy, correlation_id, deadline, created_by, tags, metadata
