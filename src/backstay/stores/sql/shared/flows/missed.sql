-- The next parents with open dependencies, by id, and whether one of those should have been decided by now.
-- A dead parent leaves most of them open, until a person has decided. The walk goes from parent to parent through the
-- index, however many children each has; a planner without statistics would sort them all for a page.
WITH RECURSIVE next AS (
    SELECT
        (
            SELECT parent_id
            FROM backstay.dependencies
            WHERE verdict IS NULL
              AND parent_id > :after
            ORDER BY parent_id, job_id
            LIMIT 1
        ) AS parent_id,
        1 AS number
    UNION ALL
    SELECT
        (
            SELECT dependencies.parent_id
            FROM backstay.dependencies AS dependencies
            WHERE dependencies.verdict IS NULL
              AND dependencies.parent_id > next.parent_id
            ORDER BY dependencies.parent_id, dependencies.job_id
            LIMIT 1
        ),
        next.number + 1
    FROM next
    WHERE next.parent_id IS NOT NULL
      AND next.number < :limit
)
SELECT
    parent.id,
    parent.state IN ('completed', 'resolved', 'cancelled')
    OR (
        parent.state = 'dead'
        AND EXISTS (
            SELECT 1
            FROM backstay.dependencies AS open
            WHERE open.parent_id = parent.id
              AND open.verdict IS NULL
              AND (open.type = 'completion' OR open.on_failure = 'run')
        )
    ) AS is_missed
FROM next
JOIN backstay.jobs AS parent
  ON parent.id = next.parent_id
ORDER BY next.number
