"""Schedules: cron and intervals, time zones, and which fires become jobs."""
