"""What the reader can be asked: who and what (Pass 1), the facts (Pass 2), a narrative (Pass 3)."""

import io
import json
from typing import Any

from backstay_parts.model.server import Ask, UnknownTask
from exora_reader.facts import read_facts
from exora_reader.letters import pages_of
from exora_reader.people import read_people


def read(ask: Ask) -> Any:
    """Answer from the text; from the pictures where no text came along."""
    has_words = any(body.strip() for _, body in pages_of(ask.text))
    text = ask.text if has_words else _seen(ask) or ask.text
    match ask.schema_name:
        case "entities":
            return _entities(text)
        case "clinical_facts":
            return read_facts(text)
        case "narrative":
            return _narrative(ask.text)
        case _:
            raise UnknownTask(f"this reader knows no schema {ask.schema_name!r}")


def _seen(ask: Ask) -> str:
    """The text of the pictures, read by OCR."""
    if not ask.pictures:
        return ""
    from PIL import Image

    from backstay_parts.ocr import read_scan

    pages = []
    for number, content in enumerate(ask.pictures, start=1):
        page, _ = read_scan(Image.open(io.BytesIO(content)), number=number)
        pages.append(f"=== PAGE {number} ===\n{page.text}")
    return "\n".join(pages)


def _entities(text: str) -> dict[str, Any]:
    facts = read_facts(text)
    return {
        **read_people(text),
        "entity_counts": {kind: len(entries) for kind, entries in facts.items()},
        "pages": len(pages_of(text)),
    }


def _narrative(text: str) -> dict[str, Any]:
    """A summary of the facts that were sent as JSON behind the line FACTS."""
    try:
        facts = json.loads(text.partition("FACTS\n")[2])
    except ValueError:
        raise UnknownTask("a narrative needs the facts as JSON behind the line FACTS") from None
    sentences = []
    for kind, words in (("condition", "Conditions"), ("medication", "Medications"), ("allergy", "Allergies")):
        named = [_told(fact) for fact in facts if fact.get("kind") == kind]
        if named:
            sentences.append(f"{words}: {', '.join(named)}.")
    return {"text": " ".join(sentences) or "No facts were read from this document.", "fact_count": len(facts)}


def _told(fact: dict[str, Any]) -> str:
    parts = [fact.get("name", ""), fact.get("dose", ""), fact.get("frequency", "")]
    told = " ".join(part for part in parts if part)
    return f"{told} ({fact['reaction']})" if fact.get("reaction") else told
