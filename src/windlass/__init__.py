"""Durable background jobs for Python."""
