"""Helpers for frameworks that an application is built on; none of them is imported unless asked for."""
