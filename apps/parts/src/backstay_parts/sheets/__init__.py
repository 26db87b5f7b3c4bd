"""Tables: sheets and CSV files in, CSV and Excel files out."""

from backstay_parts.sheets.reading import BadSheet, Cell, Sheet, read_sheets, sniff_csv
from backstay_parts.sheets.writing import escaped, write_csv, write_xlsx

__all__ = ["BadSheet", "Cell", "Sheet", "escaped", "read_sheets", "sniff_csv", "write_csv", "write_xlsx"]
