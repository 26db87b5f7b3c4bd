"""How do jobs become part of a transaction that the caller opened?

The transaction's own connection runs the statements, so the jobs commit or vanish with the caller's rows. Each family
of drivers has a file that recognises its connections; each database has one that stores the jobs.
"""
