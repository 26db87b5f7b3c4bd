"""Letters as a scanner gives them: a picture, or a PDF of pictures."""

import io

from backstay_exora.demo.letters import Letter
from backstay_parts.optional import need
from backstay_parts.pdf import open_pdf
from backstay_parts.scans import Damage, damaged


def scanned(letter: Letter, damage: Damage, *, seed: int) -> tuple[str, bytes]:
    """File name and content of the letter after scanning; several pages become a PDF of pictures."""
    with open_pdf(letter.content) as pdf:
        pages = [damaged(pdf.render(number), damage, seed=seed) for number in range(1, pdf.page_count + 1)]
    buffer = io.BytesIO()
    stem = letter.filename.removesuffix(".pdf")
    if len(pages) == 1:
        pages[0].save(buffer, "PNG")
        return f"{stem}.png", buffer.getvalue()
    need("PIL.Image", extra="scans")
    first, *rest = [page.convert("L") for page in pages]
    first.save(buffer, "PDF", save_all=True, append_images=rest, resolution=200)
    return f"{stem}-scan.pdf", buffer.getvalue()
