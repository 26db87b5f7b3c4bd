-- Keep the answer of a request.
UPDATE backstay.api_requests
SET status = :status,
    content_type = :content_type,
    body = :body
WHERE scope = :scope
  AND key = :key
