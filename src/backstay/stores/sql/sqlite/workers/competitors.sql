-- Whether another living worker takes jobs from the same lines: of one of the same kinds, in one of the same queues.
-- And what somebody told this one to do.
SELECT EXISTS (
    SELECT 1
    FROM backstay.workers AS me
    JOIN backstay.workers AS other
      ON other.id <> me.id
    WHERE me.id = :id
      AND other.state = 'alive'
      AND EXISTS (SELECT value FROM json_each(me.queues) INTERSECT SELECT value FROM json_each(other.queues))
      AND EXISTS (SELECT value FROM json_each(me.kinds) INTERSECT SELECT value FROM json_each(other.kinds))
) AS has_competitors,
    (SELECT told FROM backstay.workers WHERE id = :id) AS told
