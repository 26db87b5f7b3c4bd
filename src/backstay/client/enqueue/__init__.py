"""Every way to store a job."""
