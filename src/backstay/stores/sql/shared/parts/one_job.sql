-- One new job that is plain.
INSERT INTO backstay.jobs (id, kind, queue, state, priority, run_at, turn, created_at, updated_at, args)
VALUES (
    CAST(:id AS {uuid}), CAST(:kind AS text), CAST(:queue AS text), 'available', CAST(:priority AS smallint),
    {now}, {now} + CAST(:turn_offset AS {interval}), {now}, {now}, CAST(:args AS {json})
)
