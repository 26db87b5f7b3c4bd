-- The job that a signal is for. Its row stays locked until the signal is stored, so that signals of one job come one
-- after the other, and a run that ends waiting comes either before this or after it.
SELECT id, state, reason, queue
FROM backstay.jobs
WHERE id = :id
{lock}
