"""The outside parts that this platform alone has, as local servers: an inference provider that really computes."""
