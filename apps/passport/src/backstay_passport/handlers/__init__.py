"""One module for each job type: read, decide, write in one transaction with event and follow-up."""
