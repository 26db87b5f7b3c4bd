"""What is stored, a file a noun; every statement takes the connection of the transaction that it belongs to."""
