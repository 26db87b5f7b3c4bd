"""Keeps several worker processes running: starts, watches, replaces and stops them."""
