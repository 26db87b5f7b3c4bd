-- The tenants that are paused, and those whose pause is over and whose jobs are to be let go.
SELECT tenant, COALESCE(ends_at <= {now}, FALSE) AS is_over
FROM backstay.tenant_pauses
ORDER BY tenant
