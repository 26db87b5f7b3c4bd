-- Drop what workers read by that are no longer in the register.
DELETE FROM backstay.worker_signatures
WHERE worker NOT IN (
    SELECT id
    FROM backstay.workers
)
