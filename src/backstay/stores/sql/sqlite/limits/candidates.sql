-- The best available jobs of limited (queue, kind) pairs for one live worker, chosen as an ordinary claim chooses but not
-- claimed yet: their arguments decide which limits they are under.
WITH {part wanted},
{part picked}
SELECT job.id, job.queue, job.kind, job.args, job.tenant, job.order_key, job.turn
FROM backstay.jobs AS job
WHERE job.id IN (SELECT id FROM picked UNION ALL SELECT id FROM suspects)
