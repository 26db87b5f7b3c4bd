"""Rules as pure functions: no Backstay, no driver, no clock."""
