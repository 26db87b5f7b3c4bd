-- Refused jobs that need not wait any longer, with their rows locked: a worker lives that reads their kind by what has
-- not refused them, or they have waited long enough. A job may have gone another way since; its row is only closed.
SELECT
    misfit.job_id,
    job.state = 'held' AND job.reason = 'arguments do not fit' AS is_waiting,
    misfit.gives_up_at <= {now} AS is_over
FROM backstay.misfits AS misfit
JOIN backstay.jobs AS job
  ON job.id = misfit.job_id
WHERE misfit.is_open
  AND (
    misfit.gives_up_at <= {now}
    OR job.state <> 'held'
    OR job.reason <> 'arguments do not fit'
    OR misfit.again_at <= {now}
    AND EXISTS (
        SELECT 1
        FROM backstay.worker_signatures AS reads
        JOIN backstay.workers AS worker
          ON worker.id = reads.worker
        WHERE reads.kind = misfit.kind
          AND worker.state = 'alive'
          AND NOT EXISTS (
            SELECT 1
            FROM backstay.misfit_signatures AS refused
            WHERE refused.job_id = misfit.job_id
              AND refused.signature = reads.signature
        )
    )
)
ORDER BY misfit.again_at, misfit.job_id
LIMIT :limit
{skip_locked}
