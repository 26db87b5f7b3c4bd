-- Note whose kind it is; the newest word wins.
INSERT INTO backstay.profile_kinds (kind, profile)
SELECT given.kind, given.profile
FROM {each profile text, kind text} AS given
WHERE TRUE
ON CONFLICT (kind) DO UPDATE
SET profile = excluded.profile
