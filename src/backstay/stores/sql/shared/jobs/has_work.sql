-- Whether something is left for a worker that leaves when nothing is: a job that can run, runs, is due or waits for a
-- permit, or a schedule that is due. What is paused or due later is left for another time.
SELECT 1 AS found
FROM {each queue text, kind text} AS pair
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.pauses AS pause
    WHERE pause.queue = pair.queue
       OR pause.kind = pair.kind
)
  AND (
    EXISTS (
        SELECT 1
        FROM backstay.jobs AS job
        WHERE job.state = 'available'
          AND job.queue = pair.queue
          AND job.kind = pair.kind
    )
    OR EXISTS (
        SELECT 1
        FROM backstay.jobs AS job
        WHERE job.state = 'running'
          AND job.queue = pair.queue
          AND job.kind = pair.kind
    )
    OR EXISTS (
        SELECT 1
        FROM backstay.jobs AS job
        WHERE job.state = 'scheduled'
          AND job.run_at <= {now}
          AND job.queue = pair.queue
          AND job.kind = pair.kind
    )
    OR EXISTS (
        SELECT 1
        FROM backstay.jobs AS job
        WHERE job.state = 'held'
          AND job.parked_for IS NOT NULL
          AND job.queue = pair.queue
          AND job.kind = pair.kind
    )
    OR EXISTS (
        SELECT 1
        FROM backstay.schedules AS schedule
        WHERE schedule.is_active
          AND schedule.next_fire_at <= {now}
          AND schedule.kind = pair.kind
    )
  )
LIMIT 1
