-- How many pages of the file are used, and how many are free and not given back.
SELECT 'the file' AS name, pages.page_count - free.freelist_count AS live, free.freelist_count AS dead
FROM pragma_page_count AS pages
CROSS JOIN pragma_freelist_count AS free
