"""Measures Backstay against the plain SQL loop on the same database, in the same run."""
