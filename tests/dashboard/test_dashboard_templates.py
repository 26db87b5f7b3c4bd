"""The templates themselves, as a reader of their changes meets them."""

from __future__ import annotations

from pathlib import Path

import backstay

LONGEST_LINE = 140
TEMPLATES = sorted(Path(backstay.__file__).parent.glob("**/templates/**/*.html"))


def test_no_line_of_a_template_is_too_long_to_be_reviewed() -> None:
    long = [
        f"{path.name}:{number}"
        for path in TEMPLATES
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if len(line) > LONGEST_LINE
    ]

    assert len(TEMPLATES) > 30
    assert long == []
