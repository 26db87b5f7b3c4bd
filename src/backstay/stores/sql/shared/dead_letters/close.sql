-- Write who closed the open dead letter of a job, when and why; where a version is expected, only that one.
UPDATE backstay.dead_letters AS letter
SET status = given.next_status,
    resolution = given.why,
    resolved_by = given.who,
    resolved_at = clock.at,
    changed_by = given.who,
    changed_at = clock.at,
    version = letter.version + 1
FROM {each letter_job_id uuid, next_status text, who text, why text, expected int} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE letter.job_id = given.letter_job_id
  AND letter.status IN ('new', 'investigating')
  AND (given.expected IS NULL OR letter.version = given.expected)
RETURNING job_id
