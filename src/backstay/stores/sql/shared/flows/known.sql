-- Which of some jobs there are in a tenant: only those can be parents.
SELECT id
FROM backstay.jobs
WHERE {any_of id :ids uuid}
  AND tenant = :tenant
