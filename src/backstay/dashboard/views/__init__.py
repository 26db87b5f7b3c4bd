"""What pages show, computed from what the client says: pure functions, no request and no client."""
