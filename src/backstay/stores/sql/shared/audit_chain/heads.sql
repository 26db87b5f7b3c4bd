-- The last link of every chain.
SELECT link.tenant, link.sequence, link.hash
FROM backstay.audit_chain AS link
JOIN (
    SELECT tenant, max(sequence) AS sequence
    FROM backstay.audit_chain
    GROUP BY tenant
) AS last
  ON last.tenant = link.tenant
 AND last.sequence = link.sequence
ORDER BY link.tenant
