-- Keep a schedule's row to ourselves until the end of the transaction.
UPDATE backstay.schedules
SET updated_at = updated_at
WHERE id = :id
RETURNING id
