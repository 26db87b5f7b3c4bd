"""A year at one company: made documents, a story, and sums that must hold."""
