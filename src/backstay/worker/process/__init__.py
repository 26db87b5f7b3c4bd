"""Handlers in processes of their own: the pool, the child, and the protocol between them."""
