-- Make the side table of promoted fields: a row for every job that has some, which goes when the job goes.
-- Columns of jobs itself would cost an index entry at every change of a job; these rows are written once.
CREATE TABLE IF NOT EXISTS windlass.<<table>> (
    job_id {uuid} NOT NULL PRIMARY KEY REFERENCES windlass.jobs (id) ON DELETE CASCADE
)
