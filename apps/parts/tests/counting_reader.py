"""A reader for the frame's tests: it lists the numbers that stand in the text it is given."""

import re

from backstay_parts.model.server import Ask, Reasoning, UnknownTask, serve_reader


def read(ask: Ask) -> object:
    """The numbers of the text, and how many pictures came along."""
    if ask.schema_name not in {"numbers", ""}:
        raise UnknownTask(f"this reader knows no schema {ask.schema_name!r}")
    numbers = re.findall(r"\d+", ask.text)
    return {"numbers": numbers, "pictures": len(ask.pictures)} if ask.schema_name else " ".join(numbers)


if __name__ == "__main__":
    serve_reader(read, name="numbers-by-rule", reasoning=Reasoning(base=20, share=0.0))
