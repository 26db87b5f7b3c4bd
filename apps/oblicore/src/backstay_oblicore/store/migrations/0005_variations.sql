-- A variation replaces the duties of the document it varies: they stay for the record and come due no more.
-- `counted_from` is the base of a series that goes on from an earlier document.

ALTER TABLE oblicore.obligations
ADD COLUMN carried_from uuid REFERENCES oblicore.obligations,
ADD COLUMN counted_from date,
ADD COLUMN superseded_at timestamptz;
