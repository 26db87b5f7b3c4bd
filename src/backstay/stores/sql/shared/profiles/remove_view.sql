-- Make room for a profile's view. One that others depend on is not removed: the application makes its own again after it.
DROP VIEW IF EXISTS backstay.<<view>>
