-- How many were completed. Who was is known from the number alone when it is everybody; only those that are awaited, or
-- that others wait for, are named. Where nobody waits for any job, that is asked once for all of them, in an order that
-- only the index of open dependencies has: by any other way all decided ones might be read.
SELECT
    count(*) AS number,
    CASE WHEN is_awaited THEN id END AS awaited,
    CASE
        WHEN (SELECT TRUE FROM backstay.dependencies WHERE verdict IS NULL ORDER BY parent_id, job_id LIMIT 1) THEN (
            SELECT open.parent_id
            FROM backstay.dependencies AS open
            WHERE open.parent_id = done.id
              AND open.verdict IS NULL
            LIMIT 1
        )
    END AS parent
FROM done
GROUP BY awaited, parent
