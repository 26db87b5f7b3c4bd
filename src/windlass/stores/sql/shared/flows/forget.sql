-- Drop flows whose jobs are all gone.
DELETE FROM windlass.flows
WHERE NOT EXISTS (
    SELECT 1
    FROM windlass.flow_jobs AS part
    WHERE part.flow_id = windlass.flows.id
)
