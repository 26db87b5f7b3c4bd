-- The kinds of a profile's application.
SELECT kind
FROM backstay.profile_kinds
WHERE profile = :profile
