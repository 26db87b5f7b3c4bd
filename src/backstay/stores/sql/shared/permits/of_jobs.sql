-- Which limits some claims have permits of.
SELECT permit.job_id, permit.limit_key
FROM {each job_id uuid, epoch int} AS given
JOIN backstay.permits AS permit ON permit.job_id = given.job_id AND permit.lease_epoch = given.epoch
