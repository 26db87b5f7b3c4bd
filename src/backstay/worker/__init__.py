"""Claiming jobs and running them."""
