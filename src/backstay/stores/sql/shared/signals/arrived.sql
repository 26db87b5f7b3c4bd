-- Which of some jobs have received what they are about to wait for. A statement of its own, after the one that holds
-- the job: only then is a signal seen that was committed in between, and none can come before the end of this one.
SELECT given.job_id AS id
FROM {each job_id uuid, signal text, place int} AS given
JOIN backstay.signals AS received
  ON received.job_id = given.job_id
 AND received.name = given.signal
 AND received.position = given.place
