"""The rule language: typed, with units, without loops, clock or input; and the language of its tests."""
