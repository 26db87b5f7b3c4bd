-- Hand the best available jobs of the wanted (queue, kind) pairs to one live worker. The update goes by place through
-- an array, because a join to a LIMIT … SKIP LOCKED sub-select can be run more than once by the planner.
WITH {part wanted},
{part picked}
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.ctid = ANY (ARRAY(SELECT place FROM picked UNION ALL SELECT place FROM suspects))
  AND wanted.of_queue = job.queue
  AND wanted.of_kind = job.kind
RETURNING {part claim}
