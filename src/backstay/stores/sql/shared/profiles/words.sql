-- A profile's words.
SELECT state, detail, word
FROM backstay.profile_words
WHERE profile = :profile
