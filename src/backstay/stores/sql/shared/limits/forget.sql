-- Drop limits of keys that nobody uses or waits for: the row would say nothing that a new one does not.
DELETE FROM backstay.limits AS known
WHERE (known.key LIKE 'key %' OR known.key LIKE 'order %' OR known.key LIKE 'rate key %')
  AND spent_until < {now}
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.permits AS permit
    WHERE permit.limit_key = known.key
)
  AND NOT EXISTS (
    SELECT 1
    FROM backstay.jobs AS parked
    WHERE parked.state = 'held'
      AND parked.parked_for IS NOT NULL
      AND parked.parked_for = known.key
)
