"""Reading permits: from pages of text to conditions, each accounted for."""
