"""What the application knows about permits and compliance, without a database, a clock or a network."""
