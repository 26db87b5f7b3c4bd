-- Write verdicts. Each dependency is decided once, and no number is counted down: whoever comes second changes nothing.
-- By its key: the verdict is compared in a way that does not offer the planner an index of all that are open.
UPDATE backstay.dependencies AS open
SET verdict = given.decided,
    decided_at = clock.at
FROM {each job_id uuid, parent_id uuid, place text, decided text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE open.job_id = given.job_id
  AND open.parent_id = given.parent_id
  AND open.place = given.place
  AND COALESCE(open.verdict, '') = ''
