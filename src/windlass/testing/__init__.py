"""Tools for testing against the real thing: public, and imported by nothing else in Windlass."""

from windlass.testing.postgres_server import PrivatePostgres

__all__ = ["PrivatePostgres"]
