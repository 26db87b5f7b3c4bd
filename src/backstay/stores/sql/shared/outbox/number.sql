-- Give positions to the changes that have become visible, in the order in which they were written.
UPDATE backstay.outbox AS change
SET position = CAST(:last AS bigint) + fresh.number
FROM (
    SELECT id, ROW_NUMBER() OVER (ORDER BY id) AS number
    FROM (
        SELECT id
        FROM backstay.outbox
        WHERE position IS NULL
        ORDER BY id
        LIMIT :limit
    ) AS oldest
) AS fresh
WHERE change.id = fresh.id
RETURNING position
