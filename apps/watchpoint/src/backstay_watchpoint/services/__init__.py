"""The services: each takes a `Work`, which carries now and the connection, and returns how many items it changed."""
