"""The job types, a module each."""
