"""Every number of a job: which there are, how layers override each other, and an application's profile."""
