"""PDF: text with boxes, rendered pages, and a writer with a page frame."""

from backstay_parts.pdf.reading import BadPdf, PdfFile, open_pdf
from backstay_parts.pdf.writing import PageFrame, attach, merge, qr_code, write_pdf

__all__ = ["BadPdf", "PageFrame", "PdfFile", "attach", "merge", "open_pdf", "qr_code", "write_pdf"]
