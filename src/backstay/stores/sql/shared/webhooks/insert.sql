-- Keep a new webhook.
INSERT INTO backstay.webhooks (
    id, tenant, name, url, events, kinds, form, secret, is_enabled, created_at, created_by, updated_at
)
SELECT CAST(:id AS {uuid}), :tenant, :name, :url, :events, :kinds, :form, :secret, TRUE, clock.at, :by, clock.at
FROM (SELECT {clock} AS at) AS clock
