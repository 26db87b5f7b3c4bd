"""What Exora decides, without a database, a network or a clock."""
