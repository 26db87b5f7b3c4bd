"""The platform's tables, and how they are opened."""
