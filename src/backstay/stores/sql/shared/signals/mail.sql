-- Everything that a job's waits are answered from, as of one moment: its signals, and the waits that ran out of time.
SELECT name, position AS place, payload, FALSE AS is_timeout
FROM backstay.signals
WHERE job_id = :id
UNION ALL
SELECT name, number, NULL, TRUE
FROM backstay.waits
WHERE job_id = :id
  AND timed_out_at IS NOT NULL
ORDER BY name, place
