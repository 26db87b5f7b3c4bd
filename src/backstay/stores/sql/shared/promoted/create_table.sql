-- Make the side table of promoted fields: a row for every job that has some, which goes when the job goes.
-- Columns of jobs itself would cost an index entry at every change of a job; these rows are written once.
CREATE TABLE IF NOT EXISTS backstay.<<table>> (
    job_id {uuid} NOT NULL PRIMARY KEY REFERENCES backstay.jobs (id) ON DELETE CASCADE
)
