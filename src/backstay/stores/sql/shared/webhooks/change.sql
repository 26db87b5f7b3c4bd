-- Change a webhook; what is not given stays.
UPDATE backstay.webhooks
SET name = coalesce(CAST(:name AS text), name),
    url = coalesce(CAST(:url AS text), url),
    events = coalesce(CAST(:events AS {json}), events),
    is_enabled = coalesce(CAST(:is_enabled AS boolean), is_enabled),
    updated_at = {clock}
WHERE id = :id
RETURNING id
