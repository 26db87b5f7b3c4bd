-- How far back the newest jobs go: the doctor looks at those, because a table may hold millions.
SELECT id
FROM backstay.jobs
ORDER BY id DESC
LIMIT 1 OFFSET :newest
