-- Note what jobs wait for. A wait that was noted before keeps its deadline.
INSERT INTO backstay.waits AS wait (job_id, name, number, position, is_open, waiting_since, times_out_at)
SELECT given.job_id, given.signal, given.number, given.place, TRUE, clock.at, clock.at + given.timeout
FROM {each job_id uuid, signal text, number int, place int, timeout interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (job_id, name, number) DO UPDATE
SET is_open = TRUE
