"""Every job type of the application; workers are started with `backstay worker backstay_exora.jobs:app`."""

from backstay_exora.app import app
from backstay_exora.handlers.ai_processing import ai_processing
from backstay_exora.handlers.audit_cleanup import audit_cleanup
from backstay_exora.handlers.backup_operation import backup_operation
from backstay_exora.handlers.consent_verification import consent_verification
from backstay_exora.handlers.data_migration import data_migration
from backstay_exora.handlers.notification_delivery import notification_delivery
from backstay_exora.handlers.provider_verification import provider_verification
from backstay_exora.handlers.report_generation import report_generation
from backstay_exora.handlers.semantic_processing import semantic_processing
from backstay_exora.handlers.shell_file_processing import shell_file_processing
from backstay_exora.handlers.system_maintenance import system_maintenance

# A decision is stored first and sent to its pass then; whoever died in between is made up for within a minute.
app.schedule(every="1m", name="exora-decisions", args={"task": "send_decisions"}, overlap="skip")(
    system_maintenance
)
# A pass that is killed again and again cannot say on its document that it is dead.
app.schedule(every="1m", name="exora-failures", args={"task": "tell_failures"}, overlap="skip")(
    system_maintenance
)
app.schedule("15 2 * * *", name="exora-backup", overlap="skip")(backup_operation)
app.schedule("15 3 * * *", name="exora-audit-log", overlap="skip")(audit_cleanup)
app.schedule("30 3 * * *", name="exora-staged-files", args={"task": "staged_files"})(system_maintenance)
app.schedule("40 3 * * *", name="exora-retracted-pictures", args={"task": "retracted_pictures"})(
    system_maintenance
)
app.schedule("45 3 * * *", name="exora-statistics", args={"task": "analyse"})(system_maintenance)

__all__ = [
    "ai_processing",
    "app",
    "audit_cleanup",
    "backup_operation",
    "consent_verification",
    "data_migration",
    "notification_delivery",
    "provider_verification",
    "report_generation",
    "semantic_processing",
    "shell_file_processing",
    "system_maintenance",
]
