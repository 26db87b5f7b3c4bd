"""What applications and edges call, a file a noun."""
