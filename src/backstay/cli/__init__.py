"""The command line: every command is one call of the client, and the printing of what it answers."""

from __future__ import annotations


def main() -> None:
    """Run the command that the process was started with."""
    from backstay.cli.commands import backstay

    backstay(prog_name="backstay")
