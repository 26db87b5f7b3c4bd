"""Asking the database for jobs."""
