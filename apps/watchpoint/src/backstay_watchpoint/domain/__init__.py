"""The rules of the platform: values in, values out; no clock, no database, no network."""
