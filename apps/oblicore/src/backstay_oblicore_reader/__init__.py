"""A reader of permit clauses by grammar, served as a language model is; it imports nothing of the application."""
