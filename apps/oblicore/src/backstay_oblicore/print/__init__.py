"""Reports and packs on paper: values in, bytes of a PDF out."""
