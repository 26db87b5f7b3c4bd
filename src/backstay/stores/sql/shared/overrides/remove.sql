-- Let the code's own number count again.
DELETE FROM backstay.overrides
WHERE scope = :scope
  AND name = :name
  AND field = :field
RETURNING name
