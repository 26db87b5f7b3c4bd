  AND (
    CAST(:any_state AS boolean)
    OR {any_of job.state||'/'||COALESCE(job.reason,'') :reasons text}
    OR (
        NOT {any_of job.state||'/'||COALESCE(job.reason,'') :known_reasons text}
        AND job.attempt > 0
        AND {any_of job.state :retrying text}
    )
    OR (
        NOT {any_of job.state||'/'||COALESCE(job.reason,'') :known_reasons text}
        AND NOT (job.attempt > 0 AND {any_of job.state :known_retrying text})
        AND {any_of job.state :states text}
    )
  )
