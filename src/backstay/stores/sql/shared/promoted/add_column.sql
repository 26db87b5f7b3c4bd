-- Make the column of a promoted field; empty until jobs are stored or filled in.
ALTER TABLE backstay.<<table>>
ADD COLUMN "<<field>>" {column <<type>>}
