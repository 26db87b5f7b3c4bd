-- Note from which position on all changes of these topics are there.
UPDATE backstay.listeners AS listener
SET since = CAST(:position AS bigint)
FROM {each topic text} AS given
WHERE listener.topic = given.topic
  AND listener.since IS NULL
