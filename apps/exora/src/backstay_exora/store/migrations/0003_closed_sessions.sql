-- Sessions of documents that were taken up anew: a pass that still runs for one of them stores nothing.
CREATE TABLE exora.closed_sessions (
    processing_session_id uuid PRIMARY KEY,
    shell_file_id uuid NOT NULL REFERENCES exora.shell_files (id) ON DELETE CASCADE,
    closed_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE exora.closed_sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE exora.closed_sessions FORCE ROW LEVEL SECURITY;
CREATE POLICY the_service ON exora.closed_sessions
FOR ALL TO service_role, CURRENT_USER USING (TRUE) WITH CHECK (TRUE);

-- The reading that a person is asked about, so that it can be stored as they confirm it.
ALTER TABLE exora.manual_review_queue ADD COLUMN proposal jsonb;

-- Documents that are under way, for the sweep that looks for those whose last job is dead.
CREATE INDEX shell_files_under_way ON exora.shell_files (id)
WHERE status IN ('uploaded', 'read', 'classified', 'extracted');
