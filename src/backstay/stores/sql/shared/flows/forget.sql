-- Drop flows whose jobs are all gone.
DELETE FROM backstay.flows
WHERE NOT EXISTS (
    SELECT 1
    FROM backstay.flow_jobs AS part
    WHERE part.flow_id = backstay.flows.id
)
