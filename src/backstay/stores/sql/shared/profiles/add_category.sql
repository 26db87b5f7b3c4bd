-- Note a category that a profile declares.
INSERT INTO backstay.categories (profile, name, kinds)
SELECT given.profile, given.name, given.kinds
FROM {each profile text, name text, kinds jsonb} AS given
