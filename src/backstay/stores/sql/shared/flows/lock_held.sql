-- Lock those of some jobs that are held, in the order of ids, so that two who decide about the same ones wait for one
-- another. What their parents have come to is read by the next statement: only that sees what was committed meanwhile.
-- By their ids: a state beside one that does not exist offers the planner no index of all that are held.
SELECT id
FROM backstay.jobs
WHERE {any_of id :ids uuid}
  AND state IN ('held', '')
ORDER BY id
{lock}
