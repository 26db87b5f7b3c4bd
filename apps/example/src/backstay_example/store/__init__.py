"""The tables of the application."""
