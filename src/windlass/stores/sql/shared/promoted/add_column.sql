-- Make the column of a promoted field; empty until jobs are stored or filled in.
ALTER TABLE windlass.<<table>>
ADD COLUMN "<<field>>" {column <<type>>}
