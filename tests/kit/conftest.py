"""Fixtures of the tests of web pages and outgoing requests."""

from kit_servers import open_sink

__all__ = ["open_sink"]
