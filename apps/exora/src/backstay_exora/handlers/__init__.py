"""What each job type does: read, decide, write."""
