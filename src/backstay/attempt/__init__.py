"""What a handler can do while it runs: steps, signal waits, locks, its own transaction."""
