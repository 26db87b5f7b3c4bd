-- A profile's lanes and categories.
SELECT 'lane' AS part, name, kinds
FROM backstay.lanes
WHERE profile = :profile
UNION ALL
SELECT 'category', name, kinds
FROM backstay.categories
WHERE profile = :profile
