-- The times in a range that have fired already.
SELECT fire_time
FROM backstay.fires
WHERE schedule_id = :schedule_id
  AND fire_time >= :first
  AND fire_time <= :last
ORDER BY fire_time
