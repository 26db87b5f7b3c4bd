-- Listen no more.
DELETE FROM backstay.listeners
WHERE topic = :topic
