"""`manage.py backstay worker project.jobs:app`: every command of Backstay, with the project's settings."""

from __future__ import annotations

import runpy
import sys

from django.core.management.base import BaseCommand


class Command(BaseCommand):  # type: ignore[misc]  # Django ships no types
    """Hands everything after its own name to Backstay's command line."""

    help = "Run a command of Backstay, such as 'worker project.jobs:app'; 'backstay --help' lists them."

    def run_from_argv(self, argv: list[str]) -> None:
        """Do not let Django read the options: they are Backstay's."""
        sys.argv = [argv[1], *argv[2:]]
        # As a program: an integration does not know the command line.
        runpy.run_module("backstay", run_name="__main__")
