"""What a file is and what stands in it."""
