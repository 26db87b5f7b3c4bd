"""Pages and API: the public page behind the label, the verify page, the maker's console, the HTTP API."""
