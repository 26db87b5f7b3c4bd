-- Keep others from storing children of jobs that are about to be removed; those that somebody uses now are left out.
SELECT id
FROM backstay.jobs
WHERE {any_of id :ids uuid}
ORDER BY id
{skip_used}
