-- Take tokens: the row is locked by who does.
UPDATE backstay.limits AS known
SET spent_until = given.until
FROM {each limit_key text, until timestamp} AS given
WHERE known.key = given.limit_key
