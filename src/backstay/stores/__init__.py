"""Where jobs are kept: contracts, and one implementation of them for both databases."""
