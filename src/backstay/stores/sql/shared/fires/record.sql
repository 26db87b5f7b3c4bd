-- Write fires down. One that is there already is left alone, and then no job may be made for it.
INSERT INTO backstay.fires (
    schedule_id, fire_time, reference_time, trigger_source, status, is_open, job_id, reason, missed, created_at,
    created_by
)
SELECT
    fire.schedule_id, fire.fire_time, fire.reference_time, fire.trigger_source, fire.status, fire.is_open, fire.job_id,
    fire.reason, fire.missed, clock.at, fire.created_by
FROM {each
    schedule_id uuid, fire_time timestamp, reference_time timestamp, trigger_source text, status text, is_open boolean,
    job_id uuid, reason text, missed integer, created_by text
} AS fire
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT DO NOTHING
RETURNING fire_time
