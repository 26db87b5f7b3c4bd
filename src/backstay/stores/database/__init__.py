"""The seam between stores and the two databases: queries, connections, migrations."""
