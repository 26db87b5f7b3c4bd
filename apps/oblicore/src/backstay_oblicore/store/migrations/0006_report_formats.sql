-- In which forms an annual report was made, so that only files that exist are offered.

ALTER TABLE oblicore.aer_documents
ADD COLUMN output_format text NOT NULL DEFAULT 'BOTH' CHECK (output_format IN ('PDF', 'CSV', 'BOTH'));
