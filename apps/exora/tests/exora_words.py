"""Helpers of the tests: a text or a letter as the words of a page."""

from backstay_exora.demo.letters import Letter
from backstay_exora.demo.people import Person
from backstay_exora.domain.identity import Patient
from backstay_exora.domain.text import DocumentText, PageWord
from backstay_parts.pdf import open_pdf
from backstay_parts.words import TextPage

LETTER_WIDTH = 12.0
LINE_HEIGHT = 30.0


def document_of(text: str, *, confidence: float = 0.96) -> DocumentText:
    """A text as a page in letters of one width; a blank line is a gap."""
    words = []
    for number, line in enumerate(text.split("\n")):
        at = 0
        for word in line.split(" "):
            if word:
                left, top = 100 + at * LETTER_WIDTH, 100 + number * LINE_HEIGHT
                box = (left, top, left + len(word) * LETTER_WIDTH, top + 20)
                words.append(PageWord(1, word, box, confidence, number))
            at += len(word) + 1
    return DocumentText(tuple(words))


def document_from(pages: list[TextPage]) -> DocumentText:
    """Pages as they were read, as the domain takes them."""
    return DocumentText(
        tuple(
            PageWord(
                page.number,
                word.text,
                (word.box.left, word.box.top, word.box.right, word.box.bottom),
                word.confidence,
                word.line,
            )
            for page in pages
            for word in page.words
        )
    )


def document_of_letter(letter: Letter) -> DocumentText:
    """The text of a letter's PDF."""
    with open_pdf(letter.content) as pdf:
        return document_from(list(pdf.pages()))


def patient_of(person: Person, number: int = 0) -> Patient:
    """A person as the practice has them on record."""
    return Patient(
        str(number),
        person.given_names,
        person.family_name,
        person.date_of_birth,
        person.gender,
        person.address,
        person.record_number,
        person.ihi,
    )
