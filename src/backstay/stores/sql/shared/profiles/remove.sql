-- Forget what was told of a profile, its words, lanes and categories with it.
DELETE FROM backstay.profiles
WHERE name = :profile
