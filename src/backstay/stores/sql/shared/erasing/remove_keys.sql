-- Remove the keys that led to removed jobs: a key may be about a person, too.
DELETE FROM backstay.idempotency_keys
WHERE (tenant, key, job_id) IN (
    SELECT given.tenant, given.key, given.job_id
    FROM {each tenant text, key text, job_id uuid} AS given
)
