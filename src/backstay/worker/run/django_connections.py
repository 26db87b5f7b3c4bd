"""What Django does around a request, done around a handler: connections that are broken or too old are let go."""

from __future__ import annotations

import sys


def close_old_connections() -> None:
    """Close what this thread has open and should not use again; does nothing where Django is not used."""
    # Not imported: a program that does not use Django does not load it for this.
    database, configuration = sys.modules.get("django.db"), sys.modules.get("django.conf")
    if database is not None and configuration is not None and configuration.settings.configured:
        database.close_old_connections()
