-- Let listeners without end run out whose topic no webhook needs; somebody else may listen to it at this moment.
UPDATE backstay.listeners
SET listens_until = {now} + CAST(:length AS {interval})
WHERE listens_until IS NULL
  AND topic NOT IN (SELECT given.topic FROM {each topic text} AS given)
