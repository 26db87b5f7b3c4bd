-- Remove a batch of jobs of one state that ended before a moment, oldest ids first from where the last batch ended.
-- Ids rise with time, so the primary key serves as the index by age; finished rows then need none of their own.
DELETE FROM windlass.jobs
WHERE id IN (
    SELECT id
    FROM windlass.jobs
    WHERE id > :after
      AND id < :created_before
      AND state = :state
      AND finished_at < :finished_before
    ORDER BY id
    LIMIT :limit
    {skip_locked}
)
RETURNING id
