-- Who listens to a topic, unless that has run out.
SELECT topic, since
FROM backstay.listeners
WHERE topic = :topic
  AND (listens_until IS NULL OR listens_until > {now})
