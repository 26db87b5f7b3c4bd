-- Whether another living worker takes jobs from the same lines: of one of the same kinds, in one of the same queues.
-- And what somebody told this one to do.
WITH mine AS MATERIALIZED (
    SELECT
        ARRAY(SELECT jsonb_array_elements_text(kinds)) AS kinds,
        ARRAY(SELECT jsonb_array_elements_text(queues)) AS queues
    FROM backstay.workers
    WHERE id = :id
)
SELECT EXISTS (
    SELECT 1
    FROM backstay.workers AS other
    CROSS JOIN mine
    WHERE other.id <> :id
      AND other.state = 'alive'
      AND other.queues ?| mine.queues
      AND other.kinds ?| mine.kinds
) AS has_competitors,
    (SELECT told FROM backstay.workers WHERE id = :id) AS told
