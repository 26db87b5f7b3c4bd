"""A demonstration that makes passports for three battery models and holds them against every promise."""
