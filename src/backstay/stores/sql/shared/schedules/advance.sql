-- Move a schedule on to its next fire, if it still stands where it was read and may fire. Of many schedulers that
-- read the same, the row lets one through; the others find that it has moved, and do nothing.
UPDATE backstay.schedules
SET next_fire_at = :next_fire_at,
    last_fire_at = COALESCE(:last_fire_at, last_fire_at),
    missed_count = missed_count + :missed,
    version = version + 1,
    updated_at = clock.at
FROM (SELECT {clock} AS at) AS clock
WHERE id = :id
  AND version = :version
  AND next_fire_at = :due
  AND next_fire_at <= {now}
  AND is_active
RETURNING id
