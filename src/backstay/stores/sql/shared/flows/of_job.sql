-- What a job waits or waited for, and who waits or waited for it.
SELECT
    job_id, parent_id, place, type, CAST(condition AS text) AS condition, on_failure, verdict, decided_at
FROM backstay.dependencies
WHERE job_id = :id
   OR parent_id = :id
ORDER BY job_id, parent_id, place
