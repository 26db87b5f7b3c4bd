-- Take the keys of reactions; who finds one taken has found the job that was stored for the same end.
INSERT INTO backstay.idempotency_keys (tenant, key, fingerprint, job_id, expires_at)
SELECT given.tenant, given.key, '', given.job_id, {clock} + given.keep
FROM {each tenant text, key text, job_id uuid, keep interval} AS given
WHERE TRUE
ON CONFLICT (tenant, key) DO NOTHING
RETURNING job_id
