-- Give the leadership of a duty up, so that another worker need not wait for it to run out.
DELETE FROM backstay.leaders
WHERE duty = :duty
  AND worker = :worker
