"""Proof by search: a state machine against a model, and whole systems on a clock and a chance of their own."""
