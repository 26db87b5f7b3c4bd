DROP VIEW IF EXISTS large_orders;
CREATE VIEW large_orders AS SELECT id, units FROM orders WHERE units >= 100;
