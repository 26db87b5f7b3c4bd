-- The jobs that name this one as their parent, oldest first.
SELECT id
FROM backstay.jobs
WHERE parent_id = :id
ORDER BY id
LIMIT :limit
