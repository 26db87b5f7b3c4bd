-- How many jobs each queue and kind has in each state.
SELECT queue, kind, state, count(*) AS jobs, min(run_at) AS oldest_run_at
FROM windlass.jobs
GROUP BY queue, kind, state
ORDER BY queue, kind, state
