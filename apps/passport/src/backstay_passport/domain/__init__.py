"""What a battery passport is: values and pure functions, without a database, a clock or a network."""
