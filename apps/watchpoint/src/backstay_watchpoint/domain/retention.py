"""How long things are kept, and how much one run may delete."""

from __future__ import annotations

from datetime import timedelta

SOFT_DELETED_ORGANIZATIONS = timedelta(days=30)
ARCHIVED_WATCHPOINTS = timedelta(days=90)
NOTIFICATIONS = timedelta(days=365)
DELIVERIES = timedelta(days=90)
AUDIT_LOGS = timedelta(days=730)
OWN_RECORDS = timedelta(days=400)
"""Runs, alerts, requests and sent mails: a year and a month, so that a year can be compared with the one before."""
SECURITY_EVENTS = timedelta(days=7)

DELETE_LIMIT = 50
AUDIT_BATCH = 500
PURGE_BATCH = 500
S3_DELETE_BATCH = 1000
DEFERRED_BATCH = 100
ARCHIVE_BUFFER = timedelta(hours=1)
