-- Note what an application calls jobs in a state.
INSERT INTO backstay.profile_words (profile, state, detail, word)
SELECT given.profile, given.state, given.detail, given.word
FROM {each profile text, state text, detail text, word text} AS given
