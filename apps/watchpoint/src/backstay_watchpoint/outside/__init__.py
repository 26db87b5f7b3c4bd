"""Clients of the outside parts: object storage, queues, inference provider, payments, mirrors."""
