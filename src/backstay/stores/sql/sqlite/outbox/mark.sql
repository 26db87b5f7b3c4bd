-- One transaction writes at a time: whoever has written finds none under way.
SELECT 0 AS mark
