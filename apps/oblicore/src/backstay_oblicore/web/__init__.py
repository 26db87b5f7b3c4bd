"""Pages and API: they read and write with the rights of whoever asks, and have no rules of their own."""
