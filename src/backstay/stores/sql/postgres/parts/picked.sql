-- The best available jobs of the wanted pairs, locked. Where there are several pairs, `shares` looks without locking
-- to learn how many jobs each contributes in order of turn; `heads` then locks exactly that many of each, passing over
-- what other workers hold. Where these hold so much of a pair that it cannot contribute what it should, `instead` takes
-- as many of the others, pair by pair in the order of their first jobs: a worker that came back with nothing would wait,
-- although there is something to do. A row that is locked stays where it is, so its place is all that is needed to find
-- it again; one that was changed just before cannot be seen at its new place yet, and is left to the next claim.
pairs AS MATERIALIZED (
    SELECT count(*) AS number
    FROM wanted
),
shares AS MATERIALIZED (
    SELECT wanted.of_queue, wanted.of_kind, :limit::bigint AS number
    FROM wanted
    WHERE (SELECT number FROM pairs) = 1
    UNION ALL
    SELECT best.of_queue, best.of_kind, count(*)
    FROM (
        SELECT pair.of_queue, pair.of_kind
        FROM wanted AS pair
        CROSS JOIN LATERAL (
            SELECT turn, id
            FROM backstay.jobs
            WHERE
                {part in_line}
            ORDER BY turn, id
            LIMIT :limit::bigint
        ) AS head
        WHERE (SELECT number FROM pairs) > 1
        ORDER BY head.turn, head.id
        LIMIT :limit::bigint
    ) AS best
    GROUP BY best.of_queue, best.of_kind
),
heads AS MATERIALIZED (
    SELECT found.place
    FROM shares AS pair
    CROSS JOIN LATERAL (
        SELECT head.place
        FROM (
            SELECT ctid AS place
            FROM backstay.jobs
            WHERE
                {part in_line}
            ORDER BY turn, id
            LIMIT :limit::bigint
            FOR NO KEY UPDATE SKIP LOCKED
        ) AS head
        LIMIT pair.number
    ) AS found
),
missing AS MATERIALIZED (
    SELECT (SELECT sum(number) FROM shares) - (SELECT count(*) FROM heads) AS number
    FROM pairs
    WHERE pairs.number > 1
),
instead AS MATERIALIZED (
    SELECT found.place
    FROM (
        SELECT of_queue, of_kind
        FROM wanted AS pair
        ORDER BY (
            SELECT turn
            FROM backstay.jobs
            WHERE
                {part in_line}
                AND ctid <> ALL (ARRAY(SELECT place FROM heads))
            ORDER BY turn, id
            LIMIT 1
        )
    ) AS pair
    CROSS JOIN LATERAL (
        SELECT ctid AS place
        FROM backstay.jobs
        WHERE
            {part in_line}
            AND ctid <> ALL (ARRAY(SELECT place FROM heads))
        ORDER BY turn, id
        LIMIT :limit::bigint
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
    WHERE (SELECT number FROM missing) > 0
    LIMIT (SELECT number FROM missing)
),
picked AS (
    SELECT place FROM heads
    UNION ALL
    SELECT place FROM instead
),
suspects AS MATERIALIZED (
    SELECT found.place
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT ctid AS place
        FROM backstay.jobs
        WHERE state = 'available'
          AND is_suspect
          AND jobs.queue = wanted.of_queue
          AND jobs.kind = wanted.of_kind
        ORDER BY turn, id
        LIMIT :suspects::bigint
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
    LIMIT :suspects::bigint
)
