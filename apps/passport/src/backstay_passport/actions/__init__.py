"""What people and programs can ask for: each action is one transaction, with its event and its jobs."""
