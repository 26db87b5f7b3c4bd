"""A module for each kind of job."""
