-- When the next step of an operation is due; none where no operation runs.
SELECT min(next_at) AS next_at, {now} AS now
FROM backstay.operations
WHERE status = 'running'
