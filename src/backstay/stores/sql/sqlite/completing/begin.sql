-- A transaction on a file has no number: its commit is answered by the process itself.
SELECT NULL AS transaction_id
