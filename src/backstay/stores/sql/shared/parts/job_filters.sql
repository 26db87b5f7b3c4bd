-- What a search asks of a job besides its place in the order; a NULL filter lets everything through.
  AND (CAST(:state AS text) IS NULL OR job.state = :state)
{part state_match}
  AND (CAST(:kind AS text) IS NULL OR job.kind = :kind)
  AND (CAST(:queue AS text) IS NULL OR job.queue = :queue)
  AND (CAST(:category AS text) IS NULL OR job.category = :category)
  AND (CAST(:tenant AS text) IS NULL OR job.tenant = :tenant)
  AND (CAST(:worker AS text) IS NULL OR job.worker = :worker)
  AND (CAST(:correlation_id AS text) IS NULL OR job.correlation_id = :correlation_id)
  AND (CAST(:created_by AS text) IS NULL OR job.created_by = :created_by)
  AND (CAST(:error_class AS text) IS NULL OR {error_class job.error} = :error_class)
  AND (CAST(:parent_id AS {uuid}) IS NULL OR job.parent_id = :parent_id)
  AND (CAST(:tag AS text) IS NULL OR {has_tag job.tags :tag})
  AND (CAST(:created_from AS {timestamp}) IS NULL OR job.created_at >= :created_from)
  AND (CAST(:created_to AS {timestamp}) IS NULL OR job.created_at < :created_to)
  AND (CAST(:finished_from AS {timestamp}) IS NULL OR job.finished_at >= :finished_from)
  AND (CAST(:finished_to AS {timestamp}) IS NULL OR job.finished_at < :finished_to)
  AND (
    CAST(:text AS text) IS NULL
    OR lower(COALESCE(job.name, '') || ' ' || COALESCE(job.description, '') || ' ' || COALESCE(CAST(job.error AS text), ''))
        LIKE :text ESCAPE '!'
  )
