-- Let those who wait for a job wait for the one that takes its place.
UPDATE backstay.dependencies
SET parent_id = :new_id
WHERE parent_id = :id
  AND verdict IS NULL
