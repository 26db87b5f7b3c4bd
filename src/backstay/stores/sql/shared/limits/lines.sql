-- The ordering keys in whose lines these jobs stand.
SELECT job.order_key
FROM {each job_id uuid} AS given
JOIN backstay.jobs AS job ON job.id = given.job_id
WHERE job.order_key IS NOT NULL
