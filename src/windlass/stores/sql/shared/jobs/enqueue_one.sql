-- Store one new job that is plain: what a caller who enqueues a job at a time waits for. No list of one, and no second
-- look at the clock, because PostgreSQL takes longer to begin with those than to store the row.
-- Otherwise as enqueue_plain.
INSERT INTO windlass.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args)
VALUES (
    CAST(:id AS {uuid}), CAST(:kind AS text), CAST(:queue AS text), 'available', CAST(:priority AS smallint),
    {now}, {now} + CAST(:turn_offset AS {interval}), {now}, {now}, CAST(:args AS {json})
)
