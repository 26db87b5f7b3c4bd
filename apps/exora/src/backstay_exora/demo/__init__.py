"""The demonstration, and the letters it is told with."""
