"""Serve the reader: `python -m backstay_oblicore_reader --port N`."""

from __future__ import annotations

from backstay_oblicore_reader.grammar import obligations
from backstay_parts.model.server import Ask, UnknownTask, serve_reader

SCHEMA = "permit_obligations"


def read(ask: Ask) -> object:
    """Answer from the text that was given, and from nothing else."""
    if ask.schema_name != SCHEMA:
        raise UnknownTask(f"this reader knows the schema {SCHEMA!r}, not {ask.schema_name!r}")
    return {"obligations": obligations(ask.text)}


def main() -> None:
    """Serve until the process is ended."""
    serve_reader(read, name="permit-clauses-by-grammar")


if __name__ == "__main__":
    main()
