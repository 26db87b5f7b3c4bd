"""From a file's bytes to pages of text and tables."""
