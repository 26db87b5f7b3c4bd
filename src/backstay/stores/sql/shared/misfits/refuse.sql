-- Note what the arguments of jobs did not fit.
INSERT INTO backstay.misfit_signatures (job_id, signature)
SELECT given.job_id, given.signature
FROM {each job_id uuid, signature text} AS given
WHERE TRUE
ON CONFLICT (job_id, signature) DO NOTHING
