-- A part of one chain in order, with the lines that its links are about.
SELECT link.sequence, link.audit_id, link.previous_hash, link.hash, line.id, line.at, line.tenant, line.actor, line.action, line.job_id, line.from_state, line.to_state, line.reason,
       line.source, line.details
FROM backstay.audit_chain AS link
LEFT JOIN backstay.audit AS line ON line.id = link.audit_id
WHERE link.tenant = :tenant
  AND link.sequence > :after
ORDER BY link.sequence
LIMIT :limit
