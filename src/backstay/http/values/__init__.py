"""What the API takes and answers, a file a noun."""
