"""Values and rules: standard library only, no clock, no input or output; a noun a file."""
