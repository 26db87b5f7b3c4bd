-- Jobs in an application's words: their state as it is called there, tenants and priorities as written there.
CREATE VIEW backstay.<<view>> AS
SELECT
    job.id,
    job.kind,
    job.queue,
    job.category,
    COALESCE(
        (
            SELECT special.word
            FROM backstay.profile_words AS special
            WHERE special.profile = '<<profile>>'
              AND special.state = job.state
              AND special.detail = job.reason
        ),
        (
            SELECT again.word
            FROM backstay.profile_words AS again
            WHERE again.profile = '<<profile>>'
              AND again.state = job.state
              AND again.detail = 'retrying'
              AND job.attempt > 0
              AND job.state IN ('scheduled', 'held', 'available')
        ),
        (
            SELECT general.word
            FROM backstay.profile_words AS general
            WHERE general.profile = '<<profile>>'
              AND general.state = job.state
              AND general.detail = ''
        ),
        job.state
    ) AS status,
    job.state,
    job.reason,
    job.tenant AS "<<tenant>>",
    <<own_priority>> AS priority,
    job.name,
    job.description,
    job.tags,
    job.metadata,
    job.created_by,
    job.parent_id,
    job.correlation_id,
    job.attempt,
    job.max_attempts,
    job.created_at,
    job.run_at,
    job.started_at,
    job.finished_at,
    job.updated_at,
    job.duration_ms,
    job.error
FROM backstay.jobs AS job
WHERE job.kind IN (SELECT own.kind FROM backstay.profile_kinds AS own WHERE own.profile = '<<profile>>')
