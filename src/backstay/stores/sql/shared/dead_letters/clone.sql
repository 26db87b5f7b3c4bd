-- Store a dead job once more as a new one, which takes its place: same queue, priority, parent and unique key.
-- Its idempotency key stays with the first, because that was the job it was given for.
INSERT INTO backstay.jobs (
    id, kind, queue, state, priority, run_at, turn, created_at, updated_at, tenant, args, own_max_attempts, own_timeout,
    own_lease, policy, tags, metadata, name, description, parent_id, correlation_id, created_by, unique_key, deadline,
    order_key, profile, category
)
SELECT
    given.new_id,
    job.kind,
    job.queue,
    CASE WHEN given.delay > given.no_delay THEN 'scheduled' ELSE 'available' END,
    job.priority,
    clock.at + given.delay,
    clock.at + given.delay + (job.turn - job.run_at),
    clock.at,
    clock.at,
    job.tenant,
    COALESCE(given.new_args, job.args),
    job.own_max_attempts,
    job.own_timeout,
    job.own_lease,
    job.policy,
    job.tags,
    given.new_metadata,
    job.name,
    job.description,
    job.parent_id,
    job.correlation_id,
    given.who,
    job.unique_key,
    CASE WHEN job.deadline > clock.at THEN job.deadline END,
    -- Other arguments may belong to another key.
    CASE WHEN given.new_args IS NULL THEN job.order_key END,
    job.profile,
    job.category
FROM {each
    job_id uuid, new_id uuid, delay interval, no_delay interval, new_args json, new_metadata jsonb, who text
} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
JOIN backstay.jobs AS job
  ON job.id = given.job_id
RETURNING id
