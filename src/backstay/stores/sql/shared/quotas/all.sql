-- Every quota, with who set it and why.
SELECT tenant, queue, most, set_at, set_by, reason
FROM backstay.quotas
ORDER BY tenant, queue
