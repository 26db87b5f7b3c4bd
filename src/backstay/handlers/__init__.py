"""From a function to checked JSON and back: kinds, signatures, argument schemas, encoding."""
