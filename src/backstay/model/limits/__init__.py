"""Limits and rates: how they are declared, who may start under them, and fairness between tenants."""
