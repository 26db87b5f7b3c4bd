-- Make the column of a promoted field that points at a table of the application's own.
ALTER TABLE backstay.<<table>>
ADD COLUMN "<<field>>" {column <<type>>}
CONSTRAINT "<<field>>_must_exist" REFERENCES <<target>> ("<<target_column>>") ON DELETE <<on_delete>>
