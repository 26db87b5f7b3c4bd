-- Put a name on the open dead letter of a job; a note stays until there is another.
UPDATE backstay.dead_letters AS letter
SET status = 'investigating',
    owner = given.who,
    note = COALESCE(given.remark, letter.note),
    changed_by = given.who,
    changed_at = clock.at,
    version = letter.version + 1
FROM {each letter_job_id uuid, who text, remark text, expected int} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE letter.job_id = given.letter_job_id
  AND letter.status IN ('new', 'investigating')
  AND (given.expected IS NULL OR letter.version = given.expected)
RETURNING tenant, version
