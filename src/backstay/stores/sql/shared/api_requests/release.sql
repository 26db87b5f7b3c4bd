-- Give a key back whose request changed nothing.
DELETE FROM backstay.api_requests
WHERE scope = :scope
  AND key = :key
  AND status IS NULL
