-- Count runs; a schedule that has had all of its runs does not fire again.
UPDATE backstay.schedules
SET run_count = run_count + :runs,
    next_fire_at = CASE WHEN run_count + :runs >= max_runs THEN NULL ELSE next_fire_at END
WHERE id = :id
RETURNING run_count
