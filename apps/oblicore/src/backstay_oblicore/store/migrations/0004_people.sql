-- What people see of each other, and what they may change about themselves.
-- Password hashes are read by the service role alone.

REVOKE SELECT ON oblicore.users FROM oblicore_user;
GRANT SELECT (id, email, full_name, phone, is_platform_admin, notification_preferences, deleted_at)
ON oblicore.users TO oblicore_user;
GRANT UPDATE (phone, notification_preferences) ON oblicore.users TO oblicore_user;

CREATE POLICY users_change_themselves ON oblicore.users FOR UPDATE TO oblicore_user
USING (id = oblicore.current_user_id()) WITH CHECK (id = oblicore.current_user_id());

-- The first due date itself, where a person has given it; later ones count from there.
ALTER TABLE oblicore.obligations ADD COLUMN first_due_date date;
