-- What jobs are now, and stay until the transaction ends: the update that follows could not tell any more.
-- The lock is the one that the update takes, so that nobody waits who would not wait for that.
SELECT id, state, tenant, priority, run_at
FROM backstay.jobs
WHERE {any_of id :ids uuid}
ORDER BY id
{keep}
