-- Each run looks at its task's unfinished runs first; they are few among all that ever were.
CREATE INDEX idx_task_runs_unfinished ON watchpoint.task_runs (task) WHERE status IN ('running', 'braked');
