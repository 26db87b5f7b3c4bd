-- What the parents of some jobs returned, with the place where each job wants it, and the arguments it has.
SELECT
    given.job_id, given.place,
    CAST(child.args AS text) AS args,
    CASE WHEN given.verdict = 'met' THEN CAST(parent.result AS text) END AS result
FROM backstay.dependencies AS given
JOIN backstay.jobs AS parent
  ON parent.id = given.parent_id
JOIN backstay.jobs AS child
  ON child.id = given.job_id
WHERE {any_of given.job_id :ids uuid}
  AND given.type = 'data'
ORDER BY given.job_id, given.place
