-- A tenant with jobs of a wanted kind to be claimed from the queue; which one is for the statement to say.
SELECT head.tenant
FROM backstay.jobs AS head
WHERE head.state = 'available'
  AND NOT head.is_suspect
  AND head.tenant <> ''
  AND head.queue = :queue
  AND head.kind = wanted.of_kind
