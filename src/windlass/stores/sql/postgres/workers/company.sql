-- Whether another living worker takes jobs from the same lines: of one of the same kinds, in one of the same queues.
WITH mine AS MATERIALIZED (
    SELECT
        ARRAY(SELECT jsonb_array_elements_text(kinds)) AS kinds,
        ARRAY(SELECT jsonb_array_elements_text(queues)) AS queues
    FROM windlass.workers
    WHERE id = :id
)
SELECT EXISTS (
    SELECT 1
    FROM windlass.workers AS other
    CROSS JOIN mine
    WHERE other.id <> :id
      AND other.state = 'alive'
      AND other.queues ?| mine.queues
      AND other.kinds ?| mine.kinds
) AS has_company
