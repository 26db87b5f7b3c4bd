"""From the bytes of a document to what it says: JSON, XML, CSV, text PDF, scanned PDF and pictures."""
