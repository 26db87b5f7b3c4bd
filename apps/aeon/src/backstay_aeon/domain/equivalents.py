"""What stands for each index, constraint and trigger of the document: the five tables are views over the engine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Equivalent:
    """An object of the database and what sort it is."""

    kind: str
    object: str


EQUIVALENTS = {
    "idx_jobs_status": Equivalent("index", "backstay.jobs_claim"),
    "idx_jobs_job_type": Equivalent("index", "backstay.jobs_claim"),
    "idx_jobs_priority": Equivalent("index", "backstay.jobs_claim"),
    "idx_jobs_created_at": Equivalent("index", "backstay.jobs_pkey"),
    "idx_jobs_team_id": Equivalent("index", "backstay.jobs_of_tenant"),
    "idx_jobs_created_by": Equivalent("index", "backstay.promoted_aeon_created_by"),
    "idx_jobs_parent_job": Equivalent("index", "backstay.jobs_parent"),
    "idx_jobs_schedule": Equivalent("index", "backstay.fires_job"),
    "idx_jobs_scheduled_for": Equivalent("index", "backstay.jobs_due"),
    "idx_jobs_tags": Equivalent("index", "backstay.jobs_of_tenant"),
    "idx_jobs_payload": Equivalent("index", "backstay.promoted_aeon_job_category"),
    "idx_job_executions_job_id": Equivalent("index", "backstay.attempts_pkey"),
    "idx_job_executions_status": Equivalent("index", "backstay.attempts_pkey"),
    "idx_job_executions_started_at": Equivalent("index", "backstay.attempts_pkey"),
    "idx_job_executions_worker": Equivalent("index", "backstay.jobs_running"),
    "idx_job_dependencies_job_id": Equivalent("index", "backstay.dependencies_pkey"),
    "idx_job_dependencies_depends_on": Equivalent("index", "backstay.dependencies_of_parent"),
    "idx_job_dependencies_unsatisfied": Equivalent("index", "backstay.dependencies_undecided"),
    "idx_job_schedules_enabled": Equivalent("index", "aeon.idx_job_schedules_enabled"),
    "idx_job_schedules_next_run": Equivalent("index", "backstay.schedules_due"),
    "idx_job_schedules_team_id": Equivalent("index", "aeon.idx_job_schedules_team_id"),
    "idx_job_schedules_job_type": Equivalent("index", "aeon.idx_job_schedules_job_type"),
    "idx_dead_letter_jobs_status": Equivalent("index", "backstay.dead_letters_open"),
    "idx_dead_letter_jobs_job_type": Equivalent("index", "backstay.dead_letters_cause"),
    "idx_dead_letter_jobs_created_at": Equivalent("index", "backstay.dead_letters_open"),
    "idx_dead_letter_jobs_team_id": Equivalent("index", "backstay.dead_letters_open"),
    "idx_dead_letter_jobs_original_job": Equivalent("index", "backstay.dead_letters_pkey"),
    "jobs_retry_check": Equivalent("constraint", "backstay.jobs/fields_fit_state"),
    "job_executions_unique_attempt": Equivalent("constraint", "backstay.attempts/attempts_pkey"),
    "job_dependencies_no_self": Equivalent("constraint", "backstay.dependencies/no_dependency_on_itself"),
    "job_dependencies_unique": Equivalent("constraint", "backstay.dependencies/dependencies_pkey"),
    "job_schedules_cron_check": Equivalent("constraint", "aeon.schedule_rows/job_schedules_cron_check"),
    "job_schedules_max_runs_check": Equivalent("constraint", "backstay.schedules/runs_within_limit"),
    "trigger_jobs_updated_at": Equivalent("trigger", "aeon.change_job"),
    "trigger_job_schedules_updated_at": Equivalent("trigger", "aeon.change_schedule"),
    "trigger_calculate_duration": Equivalent("trigger", "public.job_executions"),
}
