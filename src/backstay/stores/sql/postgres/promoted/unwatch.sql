-- Stop filling the promoted fields of a kind in one way; what calls the function goes with it.
DROP FUNCTION IF EXISTS backstay.<<name>>() CASCADE
