"""What is wrong with jobs and workers, and why one job does not run."""
