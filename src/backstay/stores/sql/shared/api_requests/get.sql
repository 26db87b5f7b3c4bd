-- What is known of a request.
SELECT fingerprint, status, content_type, body
FROM backstay.api_requests
WHERE scope = :scope
  AND key = :key
