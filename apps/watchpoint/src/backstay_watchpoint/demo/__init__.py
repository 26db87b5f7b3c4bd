"""The demonstration: yesterday in a minute."""
