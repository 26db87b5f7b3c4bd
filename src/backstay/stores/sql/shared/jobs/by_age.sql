-- The next jobs by age. Ids rise with time, so the primary key serves as the index by age; finished rows then need
-- none of their own. No other condition: with one, a planner without statistics would rather sort the whole table.
SELECT id, state, finished_at
FROM backstay.jobs
WHERE id > :after
ORDER BY id
LIMIT :limit
