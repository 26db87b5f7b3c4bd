-- Store new jobs that differ in their arguments only, which most batches do: what they share is sent once.
-- Otherwise as enqueue_plain.
INSERT INTO backstay.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args)
SELECT
    job.id, CAST(:kind AS text), CAST(:queue AS text), 'available', CAST(:priority AS smallint), clock.at, clock.turn,
    clock.at, clock.at, job.args
FROM {each id uuid, args json} AS job
CROSS JOIN (SELECT now.at, now.at + CAST(:turn_offset AS {interval}) AS turn FROM (SELECT {clock} AS at) AS now) AS clock
