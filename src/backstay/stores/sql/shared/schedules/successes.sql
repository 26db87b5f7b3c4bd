-- When a run of each schedule that fires completed last, looking at its newest fires only: what is older is no comfort.
SELECT
    schedule.id,
    (
        SELECT MAX(ended.at)
        FROM (
            SELECT
                COALESCE(job.finished_at, fire.finished_at) AS at,
                COALESCE(job.state, fire.state) AS state
            FROM backstay.fires AS fire
            LEFT JOIN backstay.jobs AS job
              ON job.id = fire.job_id
            WHERE fire.schedule_id = schedule.id
            ORDER BY fire.fire_time DESC
            LIMIT :newest
        ) AS ended
        WHERE ended.state = 'completed'
    ) AS at
FROM backstay.schedules AS schedule
WHERE schedule.is_active
