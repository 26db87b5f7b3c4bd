-- Store new jobs that are due now and have nothing special about them: most are, and a short statement is a fast one.
-- It fails where an id is there already; being ready for that would cost every row a third more.
INSERT INTO backstay.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args)
SELECT
    job.id, job.kind, job.queue, 'available', job.priority, clock.at, clock.at + job.turn_offset, clock.at, clock.at,
    job.args
FROM {each id uuid, kind text, queue text, args json, priority smallint, turn_offset interval} AS job
CROSS JOIN (SELECT {clock} AS at) AS clock
