"""Exora's tables in PostgreSQL: reads and writes, no decisions."""
