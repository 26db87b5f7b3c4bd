"""One module a page: what it asks the client, and what it shows."""
