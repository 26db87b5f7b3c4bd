-- Say of each claim whether it is still held and whether another transaction has its row locked now.
WITH given AS MATERIALIZED (
    SELECT job_id, epoch
    FROM {each job_id uuid, epoch int} AS claim
),
free AS MATERIALIZED (
    SELECT id
    FROM backstay.jobs
    WHERE id = ANY (ARRAY(SELECT job_id FROM given))
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT
    given.job_id AS id,
    COALESCE(job.lease_epoch = given.epoch, FALSE) AS is_held,
    free.id IS NULL AS is_locked
FROM given
LEFT JOIN backstay.jobs AS job
  ON job.id = given.job_id
LEFT JOIN free
  ON free.id = given.job_id
