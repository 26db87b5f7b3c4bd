"""Ids of waiting jobs in Redis: suggestions what to claim, while PostgreSQL stays the truth."""
