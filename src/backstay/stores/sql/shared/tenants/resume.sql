-- End the pause of a tenant now. The row stays until everything that it has held goes on again.
UPDATE backstay.tenant_pauses
SET ends_at = {clock}
WHERE tenant = :tenant
  AND (ends_at IS NULL OR ends_at > {now})
RETURNING tenant
