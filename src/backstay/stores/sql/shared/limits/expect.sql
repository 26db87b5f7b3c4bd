-- Remember when the next token comes that a job waits for; nothing where none does.
-- One row is looked for in the order of its index: an EXISTS can be turned into a walk over all jobs that wait for
-- anything.
UPDATE backstay.limits AS known
SET next_at = (
    SELECT given.due
    FROM backstay.jobs AS parked
    WHERE parked.state = 'held'
      AND parked.parked_for IS NOT NULL
      AND parked.parked_for = given.limit_key
    ORDER BY parked.parked_for, parked.turn, parked.id
    LIMIT 1
)
FROM {each limit_key text, due timestamp} AS given
WHERE known.key = given.limit_key
