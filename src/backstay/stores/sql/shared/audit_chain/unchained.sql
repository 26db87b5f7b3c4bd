-- Lines of the audit trail that no chain has yet, in order. Lines become visible out of order, so that the newest are
-- looked through again each time.
SELECT line.id, line.at, line.tenant, line.actor, line.action, line.job_id, line.from_state, line.to_state, line.reason,
       line.source, line.details
FROM backstay.audit AS line
WHERE line.id > (SELECT coalesce(max(audit_id), 0) FROM backstay.audit_chain) - CAST(:window AS bigint)
  AND NOT EXISTS (SELECT 1 FROM backstay.audit_chain AS link WHERE link.audit_id = line.id)
ORDER BY line.id
LIMIT :limit
