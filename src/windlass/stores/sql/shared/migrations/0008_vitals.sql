-- What a worker uses and how it fares, and what attempts in processes of their own have used.

ALTER TABLE windlass.workers ADD COLUMN type text NOT NULL DEFAULT 'general';

ALTER TABLE windlass.workers ADD COLUMN settled bigint NOT NULL DEFAULT 0;

ALTER TABLE windlass.workers ADD COLUMN tainted integer NOT NULL DEFAULT 0;

ALTER TABLE windlass.workers ADD COLUMN cpu_percent real;

ALTER TABLE windlass.workers ADD COLUMN rss_mb integer;

ALTER TABLE windlass.workers ADD COLUMN loop_lag_ms integer;

-- Apart from jobs and attempts: most attempts are not measured, and theirs are the tables that every job writes to.
CREATE TABLE windlass.measures (
    job_id {uuid} NOT NULL REFERENCES windlass.jobs (id) ON DELETE CASCADE,
    lease_epoch integer NOT NULL,
    cpu_ms bigint NOT NULL,
    peak_rss_mb integer NOT NULL,
    PRIMARY KEY (job_id, lease_epoch)
);

DROP VIEW windlass.job_executions;

CREATE VIEW windlass.job_executions AS
SELECT
    ended.job_id,
    ended.run AS attempt_number,
    ended.attempt,
    ended.status,
    ended.started_at,
    ended.finished_at AS completed_at,
    ended.duration_ms,
    ended.worker AS worker_id,
    ended.error,
    used.cpu_ms,
    used.peak_rss_mb
FROM windlass.attempts AS ended
LEFT JOIN windlass.measures AS used
  ON used.job_id = ended.job_id
 AND used.lease_epoch = ended.lease_epoch
UNION ALL
SELECT
    job.id,
    job.run,
    job.attempt,
    CASE job.state WHEN 'running' THEN 'started' ELSE 'completed' END,
    job.started_at,
    job.finished_at,
    job.duration_ms,
    job.worker,
    job.error,
    used.cpu_ms,
    used.peak_rss_mb
FROM windlass.jobs AS job
LEFT JOIN windlass.measures AS used
  ON used.job_id = job.id
 AND used.lease_epoch = job.settled_epoch
 AND job.state = 'completed'
WHERE job.state IN ('running', 'completed')
  AND job.started_at IS NOT NULL;
