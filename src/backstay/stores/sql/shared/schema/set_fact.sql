-- Keep a fact about this installation; the first word stays.
INSERT INTO backstay.facts (key, value)
VALUES (:key, :value)
ON CONFLICT (key) DO NOTHING
