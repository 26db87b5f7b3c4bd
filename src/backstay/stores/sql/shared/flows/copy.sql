-- Store a job of a flow once more, held, as a new one that is to run in its place.
INSERT INTO backstay.jobs (
    id, kind, queue, state, reason, priority, run_at, turn, created_at, updated_at, tenant, args, own_max_attempts,
    own_timeout, own_lease, policy, tags, metadata, name, description, parent_id, correlation_id, created_by,
    profile, category
)
SELECT
    given.new_id,
    job.kind,
    job.queue,
    'held',
    given.why,
    job.priority,
    clock.at,
    clock.at + (job.turn - job.run_at),
    clock.at,
    clock.at,
    job.tenant,
    job.args,
    job.own_max_attempts,
    job.own_timeout,
    job.own_lease,
    job.policy,
    job.tags,
    job.metadata,
    job.name,
    job.description,
    job.parent_id,
    job.correlation_id,
    given.who,
    job.profile,
    job.category
FROM {each job_id uuid, new_id uuid, why text, who text} AS given
CROSS JOIN (SELECT {clock} AS at) AS clock
JOIN backstay.jobs AS job
  ON job.id = given.job_id
RETURNING id, tenant
