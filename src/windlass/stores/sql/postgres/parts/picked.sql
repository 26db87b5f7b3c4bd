-- The best available jobs of the wanted pairs, locked. Where there are several pairs, `shares` looks without locking
-- to learn how many jobs each contributes in order of turn; `picked` then locks exactly that many of each, passing
-- over what other workers hold. A row that is locked stays where it is, so its place is all that is needed to find it
-- again; one that was changed just before cannot be seen at its new place yet, and is left to the next claim.
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
        SELECT wanted.of_queue, wanted.of_kind
        FROM wanted
        CROSS JOIN LATERAL (
            SELECT turn, id
            FROM windlass.jobs
            WHERE state = 'available'
              AND NOT is_suspect
              AND jobs.queue = wanted.of_queue
              AND jobs.kind = wanted.of_kind
              AND jobs.turn >= :since::timestamptz
            ORDER BY turn, id
            LIMIT :limit::bigint
        ) AS head
        WHERE (SELECT number FROM pairs) > 1
        ORDER BY head.turn, head.id
        LIMIT :limit::bigint
    ) AS best
    GROUP BY best.of_queue, best.of_kind
),
picked AS MATERIALIZED (
    SELECT found.place
    FROM shares
    CROSS JOIN LATERAL (
        SELECT ctid AS place
        FROM windlass.jobs
        WHERE state = 'available'
          AND NOT is_suspect
          AND jobs.queue = shares.of_queue
          AND jobs.kind = shares.of_kind
          AND jobs.turn >= :since::timestamptz
        ORDER BY turn, id
        LIMIT shares.number
        FOR NO KEY UPDATE SKIP LOCKED
    ) AS found
),
suspects AS MATERIALIZED (
    SELECT found.place
    FROM wanted
    CROSS JOIN LATERAL (
        SELECT ctid AS place
        FROM windlass.jobs
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
