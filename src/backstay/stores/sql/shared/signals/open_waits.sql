-- What jobs wait for, and whether it has come meanwhile.
SELECT
    wait.job_id,
    wait.name,
    EXISTS (
        SELECT 1
        FROM backstay.signals AS received
        WHERE received.job_id = wait.job_id
          AND received.name = wait.name
          AND received.position = wait.position
    ) AS has_come
FROM backstay.waits AS wait
WHERE {any_of wait.job_id :ids uuid}
  AND wait.is_open
