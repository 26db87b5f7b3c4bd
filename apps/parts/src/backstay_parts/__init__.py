"""Outside parts that several applications share; import the part you need from its own module."""
