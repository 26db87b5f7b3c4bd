-- Drop what fired long ago and has ended.
DELETE FROM backstay.fires
WHERE created_at < {now} - CAST(:keep AS {interval})
  AND NOT is_open
RETURNING fire_time
