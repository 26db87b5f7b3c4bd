-- The next parents with open dependencies, by id, and whether one of those should have been decided by now.
-- A dead parent leaves most of them open, until a person has decided. Pages are counted in dependencies and not in
-- parents, so that a page is all that is read; one parent with more than a page is looked at once.
SELECT
    parent.id,
    next.ties,
    parent.state IN ('completed', 'resolved', 'cancelled')
    OR (
        parent.state = 'dead'
        AND EXISTS (
            SELECT 1
            FROM windlass.dependencies AS open
            WHERE open.parent_id = parent.id
              AND open.verdict IS NULL
              AND (open.type = 'completion' OR open.on_failure = 'run')
        )
    ) AS is_missed
FROM (
    SELECT page.parent_id, count(*) AS ties
    FROM (
        SELECT parent_id
        FROM windlass.dependencies
        WHERE verdict IS NULL
          AND parent_id > :after
        ORDER BY parent_id, job_id
        LIMIT :limit
    ) AS page
    GROUP BY page.parent_id
) AS next
JOIN windlass.jobs AS parent
  ON parent.id = next.parent_id
ORDER BY parent.id
