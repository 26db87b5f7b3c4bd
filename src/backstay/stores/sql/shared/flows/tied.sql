-- The dependencies between jobs of a flow and on jobs outside of it.
SELECT
    tie.job_id, tie.parent_id, tie.place, tie.type, CAST(tie.condition AS text) AS condition, tie.on_failure,
    tie.verdict, tie.decided_at
FROM backstay.flow_jobs AS part
JOIN backstay.dependencies AS tie
  ON tie.job_id = part.job_id
WHERE part.flow_id = :id
ORDER BY tie.job_id, tie.parent_id, tie.place
