"""The demonstration: everything at once, on private servers."""
