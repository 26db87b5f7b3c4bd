"""Exora: medical documents read in passes, with a human gate."""
