-- Hand the best available jobs of the wanted (queue, kind) pairs to one live worker.
WITH {part wanted},
{part picked}
UPDATE backstay.jobs AS job
{part start}
FROM wanted
WHERE job.id IN (SELECT id FROM picked UNION ALL SELECT id FROM suspects)
  AND wanted.of_queue = job.queue
  AND wanted.of_kind = job.kind
RETURNING {part claim}
