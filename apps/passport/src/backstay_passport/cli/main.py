"""The commands, gathered."""

from __future__ import annotations

import typer

from backstay_passport.cli import access, catalogue, documents, passports, rules, running

app = typer.Typer(help="Battery passports: make, verify and recompute them.", no_args_is_help=True)
for group in (running, access, catalogue, documents, passports):
    group.add_to(app)
rules.add_to(app)


def main() -> None:
    """Run the command line."""
    app()
