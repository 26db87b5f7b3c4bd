"""A job service for teams: imports, files, reports, and a view of it all."""
