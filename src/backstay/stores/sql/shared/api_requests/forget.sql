-- Drop answers that have served their time.
DELETE FROM backstay.api_requests
WHERE expires_at <= {now}
