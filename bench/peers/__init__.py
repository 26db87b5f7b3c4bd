"""One file a contestant: how it enqueues, how it works, and how its jobs are counted."""
