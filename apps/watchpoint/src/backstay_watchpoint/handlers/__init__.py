"""One module a job type: each registers its handler on the platform's application."""
