-- Index a promoted field for searches, newest first; most rows of other kinds have none, and cost nothing here.
CREATE INDEX IF NOT EXISTS "<<table>>_<<field>>" ON backstay.<<table>> ("<<field>>", job_id)
WHERE "<<field>>" IS NOT NULL
