-- Stop filling the promoted fields of a kind in one way.
DROP TRIGGER IF EXISTS <<name>>
