"""The job types, a module each: read, let the domain decide, write in the transaction that ends the job."""
