-- Who was completed; who is awaited, or is waited for by other jobs, is named.
RETURNING
    1 AS number,
    CASE WHEN is_awaited THEN id END AS awaited,
    (
        SELECT open.parent_id
        FROM backstay.dependencies AS open
        WHERE open.parent_id = id
          AND open.verdict IS NULL
        LIMIT 1
    ) AS parent
