-- Let the next jobs that wait for a limit be claimed, as many as there is room for.
UPDATE backstay.jobs
SET state = 'available',
    reason = NULL,
    parked_for = NULL,
    updated_at = {clock}
WHERE id IN (
    SELECT parked.id
    FROM backstay.jobs AS parked
    WHERE parked.state = 'held'
      AND parked.parked_for IS NOT NULL
      AND parked.parked_for = :limit_key
    ORDER BY parked.turn, parked.id
    LIMIT :room
)
RETURNING id, queue
