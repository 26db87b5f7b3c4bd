-- Note that the arguments of jobs did not fit. The first of several refusals in a row says when to give up.
INSERT INTO backstay.misfits AS misfit (job_id, kind, attempt, is_open, times, again_at, gives_up_at)
SELECT
    given.job_id, given.kind, given.attempt, TRUE, given.times, clock.at + given.pause, clock.at + given.wait_for
FROM {each job_id uuid, kind text, attempt smallint, times int, pause interval, wait_for interval} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
WHERE TRUE
ON CONFLICT (job_id) DO UPDATE
SET attempt = excluded.attempt,
    is_open = TRUE,
    times = excluded.times,
    again_at = excluded.again_at,
    gives_up_at = CASE WHEN excluded.times = 1 THEN excluded.gives_up_at ELSE misfit.gives_up_at END
