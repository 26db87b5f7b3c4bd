"""Which settings there are, where they come from, and how log lines look."""
