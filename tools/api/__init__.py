"""Writes the pages of docs/reference/api from the classes and functions that users may import."""
