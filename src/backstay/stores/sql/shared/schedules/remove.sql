-- Remove a schedule and its history; jobs that it has made stay.
DELETE FROM backstay.schedules
WHERE tenant = :tenant
  AND name = :name
RETURNING id
