-- Lock those of some jobs that are held, in the order of ids, so that two who decide about the same ones wait for one
-- another. What their parents have come to is read by the next statement: only that sees what was committed meanwhile.
SELECT id
FROM windlass.jobs
WHERE {any_of id :ids uuid}
  AND state = 'held'
ORDER BY id
{lock}
