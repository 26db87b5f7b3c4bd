-- Let jobs wait for others. What ties a row to its jobs keeps each parent from being removed until this is committed,
-- by the weakest of locks; nothing else of a parent's row is touched.
INSERT INTO backstay.dependencies (job_id, parent_id, place, type, condition, on_failure)
SELECT
    given.job_id, given.parent_id, given.place, given.type, CAST(given.condition AS {json}), given.on_failure
FROM {each job_id uuid, parent_id uuid, place text, type text, condition text, on_failure text} AS given
WHERE TRUE
ON CONFLICT DO NOTHING
